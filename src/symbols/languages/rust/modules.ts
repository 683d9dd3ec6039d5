import type { ConfigFiles } from "../../project/config-files.ts";
import type { FileRecord, ProjectFiles, ResolveSource } from "../../project/family.ts";
import { folderOf, nameOf } from "../../project/paths.ts";

/** A module: the folder of its crate's sources (`…/src`) and its path in there. */
interface ModulePath {
  readonly root: string;
  readonly path: readonly string[];
}

const modulePathOf = (path: string): ModulePath => {
  const parts = path.replace(/\.rs$/, "").split("/");
  const source = parts.lastIndexOf("src");
  const root = parts.slice(0, source + 1).join("/");
  const inner = parts.slice(source + 1);
  const last = inner.at(-1);
  if (last === "mod" || (inner.length === 1 && (last === "lib" || last === "main"))) inner.pop();
  return { root, path: inner };
};

const fileAt = (files: ProjectFiles, { root, path }: ModulePath): FileRecord | undefined => {
  const base = root === "" ? "" : `${root}/`;
  if (path.length === 0) return files.byPath(`${base}lib.rs`) ?? files.byPath(`${base}main.rs`);
  const joined = base + path.join("/");
  return files.byPath(`${joined}.rs`) ?? files.byPath(`${joined}/mod.rs`);
};

const crateName = (text: string): string | undefined =>
  /^\[package\][^[]*?^name\s*=\s*"([^"]+)"/ms.exec(text)?.[1]?.replaceAll("-", "_");

/** Files that a path of `use` means: `crate::a::b`, `super::a`, `self::a`, or another crate of the workspace. */
export const createRustModules = (files: ProjectFiles, config: ConfigFiles): ResolveSource => {
  let crates: ReadonlyMap<string, string> = new Map();
  let cratesAt = -1;
  const rootOf = (crate: string): string | undefined => {
    if (cratesAt !== files.generation) {
      cratesAt = files.generation;
      const found = new Map<string, string>();
      for (const folder of [...files.inFolder.keys()].sort()) {
        if (!/(?:^|\/)src$/.test(folder)) continue;
        const home = folderOf(folder);
        const name = config.parsed(home, "Cargo.toml", crateName) ?? nameOf(home).replaceAll("-", "_");
        if (!found.has(name)) found.set(name, folder);
      }
      crates = found;
    }
    return crates.get(crate);
  };

  return (from, source) => {
    const here = modulePathOf(from.path);
    const parts = source.split("::").filter(Boolean);
    const [first = ""] = parts;
    let wanted: ModulePath;
    if (first === "crate") wanted = { root: here.root, path: parts.slice(1) };
    else if (first === "self") wanted = { root: here.root, path: [...here.path, ...parts.slice(1)] };
    else if (first === "super") {
      const up = parts.findIndex((part) => part !== "super");
      const count = up < 0 ? parts.length : up;
      wanted = {
        root: here.root,
        path: [...here.path.slice(0, Math.max(0, here.path.length - count)), ...parts.slice(count)],
      };
    } else {
      const beside = fileAt(files, { root: here.root, path: [...here.path, ...parts] });
      if (beside !== undefined) return [beside.id];
      const root = rootOf(first);
      if (root === undefined) return [];
      wanted = { root, path: parts.slice(1) };
    }
    const found = fileAt(files, wanted);
    return found === undefined ? [] : [found.id];
  };
};
