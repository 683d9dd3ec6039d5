import type { ConfigFiles } from "../../project/config-files.ts";
import type { FileRecord, ProjectFiles, ResolveSource } from "../../project/family.ts";
import { folderOf, joinPath } from "../../project/paths.ts";
import { aliasesOf, type PackageConfig, packageOf } from "./config.ts";

const ENDINGS = [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".vue", ".svelte"];

/** File extensions of sources by the extension that an import names. */
const WRITTEN: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\.js$/, [".ts", ".tsx", ".d.ts", ".jsx"]],
  [/\.jsx$/, [".tsx"]],
  [/\.mjs$/, [".mts", ".d.mts"]],
  [/\.cjs$/, [".cts", ".d.cts"]],
];

/** The file of the project that a path, with or without extension, means. */
const fileAt = (files: ProjectFiles, path: string): FileRecord | undefined => {
  const exact = files.byPath(path);
  if (exact !== undefined) return exact;
  for (const [written, endings] of WRITTEN) {
    if (!written.test(path)) continue;
    for (const ending of endings) {
      const found = files.byPath(path.replace(written, ending));
      if (found !== undefined) return found;
    }
  }
  for (const ending of ENDINGS) {
    const found = files.byPath(path + ending);
    if (found !== undefined) return found;
  }
  for (const ending of ENDINGS) {
    const found = files.byPath(path === "" ? `index${ending}` : `${path}/index${ending}`);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** All paths that an entry of `exports` names, whatever the condition. */
const pathsIn = (entry: unknown, depth = 4): readonly string[] => {
  if (typeof entry === "string") return [entry];
  if (typeof entry !== "object" || entry === null || depth === 0) return [];
  return Object.values(entry).flatMap((inner) => pathsIn(inner, depth - 1));
};

/** Build output is rarely indexed: its sources are looked up where they usually are. */
const sourcesOf = (path: string): readonly string[] => {
  const plain = path.replace(/\.d\.([mc]?ts)$/, ".$1").replace(/\.[mc]?[jt]sx?$/, "");
  const moved = plain.replace(/^(\.\/)?(?:dist|lib|build|out|esm|cjs)\/(?:(?:esm|cjs|types|src)\/)?/, "src/");
  return [path, plain, moved, moved.replace(/^src\//, "")];
};

const entriesOf = (json: PackageConfig["json"], rest: string): readonly string[] => {
  const exported = json["exports"];
  const key = rest === "" ? "." : `./${rest}`;
  const entries: string[] = [];
  if (typeof exported === "string" && rest === "") entries.push(exported);
  if (typeof exported === "object" && exported !== null) {
    const map: Readonly<Record<string, unknown>> = { ...exported };
    const hasPaths = Object.keys(map).some((name) => name.startsWith("."));
    entries.push(...pathsIn(hasPaths ? map[key] : rest === "" ? map : undefined));
    for (const [pattern, target] of Object.entries(map)) {
      const star = pattern.indexOf("*");
      if (star < 0 || !key.startsWith(pattern.slice(0, star)) || !key.endsWith(pattern.slice(star + 1)))
        continue;
      const matched = key.slice(star, key.length - (pattern.length - star - 1));
      entries.push(...pathsIn(target).map((path) => path.replaceAll("*", matched)));
    }
  }
  if (rest === "")
    for (const name of ["source", "types", "typings", "module", "main"]) {
      const value = json[name];
      if (typeof value === "string") entries.push(value);
    }
  return entries;
};

const inPackage = (
  files: ProjectFiles,
  { folder, json }: PackageConfig,
  rest: string,
): FileRecord | undefined => {
  for (const entry of entriesOf(json, rest))
    for (const source of sourcesOf(entry)) {
      const found = fileAt(files, joinPath(folder, source));
      if (found !== undefined) return found;
    }
  return fileAt(files, joinPath(folder, rest)) ?? fileAt(files, joinPath(folder, `src/${rest}`));
};

export const createEcmascriptModules = (files: ProjectFiles, config: ConfigFiles): ResolveSource => {
  let packages: ReadonlyMap<string, PackageConfig> = new Map();
  let packagesOf = -1;
  /** Packages of this workspace by name: every folder with files, and those above, may hold one. */
  const workspace = (): ReadonlyMap<string, PackageConfig> => {
    if (packagesOf === files.generation) return packages;
    packagesOf = files.generation;
    const folders = new Set<string>();
    for (const folder of files.inFolder.keys())
      for (let at = folder; !folders.has(at); at = folderOf(at)) folders.add(at);
    const found = new Map<string, PackageConfig>();
    for (const folder of [...folders].sort()) {
      const entry = config.parsed(folder, "package.json", packageOf);
      if (entry !== undefined && !found.has(entry.name)) found.set(entry.name, entry);
    }
    packages = found;
    return packages;
  };

  const byAlias = (folder: string, source: string): FileRecord | undefined => {
    const aliases = config.nearest(folder, "tsconfig.json", (text, at) => aliasesOf(config, text, at));
    if (aliases === undefined) return undefined;
    for (const [pattern, targets] of aliases.paths) {
      const star = pattern.indexOf("*");
      const head = star < 0 ? pattern : pattern.slice(0, star);
      const tail = star < 0 ? "" : pattern.slice(star + 1);
      if (star < 0 ? source !== pattern : !source.startsWith(head) || !source.endsWith(tail)) continue;
      const matched = source.slice(head.length, source.length - tail.length);
      for (const target of targets) {
        const found = fileAt(files, joinPath(aliases.folder, target.replaceAll("*", matched)));
        if (found !== undefined) return found;
      }
    }
    return aliases.hasBase ? fileAt(files, joinPath(aliases.folder, source)) : undefined;
  };

  /** A folder with a package of its own (`require("..")`) means what that package names. */
  const atPath = (path: string): FileRecord | undefined => {
    const inner =
      files.byPath(path) === undefined ? config.parsed(path, "package.json", packageOf) : undefined;
    return (inner === undefined ? undefined : inPackage(files, inner, "")) ?? fileAt(files, path);
  };

  return (from, source) => {
    let found: FileRecord | undefined;
    if (/^\.{1,2}(?:\/|$)/.test(source)) found = atPath(joinPath(from.folder, source));
    else if (source.startsWith("/")) found = fileAt(files, source.slice(1));
    else {
      found = byAlias(from.folder, source);
      const parts = source.split("/");
      const name = parts.slice(0, source.startsWith("@") ? 2 : 1).join("/");
      const entry = found === undefined ? workspace().get(name) : undefined;
      if (entry !== undefined) found = inPackage(files, entry, source.slice(name.length + 1));
    }
    return found === undefined ? [] : [found.id];
  };
};
