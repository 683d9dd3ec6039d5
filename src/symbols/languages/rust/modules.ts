import type { ConfigFiles } from "../../project/config-files.ts";
import { type FileRecord, folderOf, type Table } from "../../project/table.ts";

/** Folder of the sources of a crate (`…/src`) and the path of a module in it. */
interface Place {
  readonly root: string;
  readonly path: readonly string[];
}

const placeOf = (path: string): Place => {
  const parts = path.replace(/\.rs$/, "").split("/");
  const source = parts.lastIndexOf("src");
  const root = parts.slice(0, source + 1).join("/");
  const inner = parts.slice(source + 1);
  const last = inner.at(-1);
  if (last === "mod" || (inner.length === 1 && (last === "lib" || last === "main"))) inner.pop();
  return { root, path: inner };
};

const fileAt = (table: Table, { root, path }: Place): FileRecord | undefined => {
  const base = root === "" ? "" : `${root}/`;
  if (path.length === 0) return table.byPath(`${base}lib.rs`) ?? table.byPath(`${base}main.rs`);
  const joined = base + path.join("/");
  return table.byPath(`${joined}.rs`) ?? table.byPath(`${joined}/mod.rs`);
};

/** Files that a path of `use` means: `crate::a::b`, `super::a`, `self::a`, or another crate of the workspace. */
export const createRustModules = (table: Table, config: ConfigFiles) => {
  let crates: ReadonlyMap<string, string> = new Map();
  let cratesAt = -1;
  const rootOf = (crate: string): string | undefined => {
    if (cratesAt !== table.generation) {
      cratesAt = table.generation;
      const found = new Map<string, string>();
      for (const folder of [...table.inFolder.keys()].sort()) {
        if (!/(?:^|\/)src$/.test(folder)) continue;
        const home = folderOf(folder);
        const name = config.crateIn(home) ?? home.slice(home.lastIndexOf("/") + 1).replaceAll("-", "_");
        if (!found.has(name)) found.set(name, folder);
      }
      crates = found;
    }
    return crates.get(crate);
  };

  return (from: FileRecord, source: string): readonly number[] => {
    const here = placeOf(from.path);
    const parts = source.split("::").filter(Boolean);
    const [first = ""] = parts;
    let place: Place;
    if (first === "crate") place = { root: here.root, path: parts.slice(1) };
    else if (first === "self") place = { root: here.root, path: [...here.path, ...parts.slice(1)] };
    else if (first === "super") {
      const up = parts.findIndex((part) => part !== "super");
      const count = up < 0 ? parts.length : up;
      place = {
        root: here.root,
        path: [...here.path.slice(0, Math.max(0, here.path.length - count)), ...parts.slice(count)],
      };
    } else {
      const beside = fileAt(table, { root: here.root, path: [...here.path, ...parts] });
      if (beside !== undefined) return [beside.id];
      const root = rootOf(first);
      if (root === undefined) return [];
      place = { root, path: parts.slice(1) };
    }
    const found = fileAt(table, place);
    return found === undefined ? [] : [found.id];
  };
};
