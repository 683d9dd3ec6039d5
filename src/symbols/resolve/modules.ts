import { createEcmascriptModules } from "../languages/ecmascript/modules.ts";
import { createPythonModules } from "../languages/python/modules.ts";
import { createRustModules } from "../languages/rust/modules.ts";
import type { ConfigFiles } from "../project/config-files.ts";
import { joinPath } from "../project/config-files.ts";
import { type FileRecord, moduleKey, type Table } from "../project/table.ts";

export interface Modules {
  /** Files of the project that a written source means; none where it is not ours. */
  files(from: FileRecord, source: string): readonly number[];
  /** Files of a module inside another: `from package import module`. */
  inner(from: FileRecord, source: string, name: string): readonly number[];
  /** The source names something of this project that has no file of its own: a class, a folder. */
  isOurs(from: FileRecord, source: string): boolean;
}

/** Folders that a Go import path may mean: by the nearest go.mod, or by the longest end of the path that is a folder. */
const createGoModules =
  (table: Table, config: ConfigFiles) =>
  (from: FileRecord, source: string): readonly number[] => {
    const own = config.goModuleFor(from.folder);
    const goFiles = (folder: string): readonly number[] =>
      table.inFolder.get(folder).filter((id) => table.file(id)?.family === "go");
    if (own !== undefined && (source === own.module || source.startsWith(`${own.module}/`)))
      return goFiles(joinPath(own.folder, source.slice(own.module.length)));
    const parts = source.split("/");
    // A path without a dot in its first part is of the standard library.
    if (!(parts[0] ?? "").includes(".")) return [];
    for (let from_ = 1; from_ < parts.length; from_++) {
      const found = goFiles(parts.slice(from_).join("/"));
      if (found.length > 0) return found;
    }
    return own === undefined && parts.length <= 4 ? goFiles("") : [];
  };

const createIncludes =
  (table: Table) =>
  (from: FileRecord, source: string): readonly number[] => {
    const beside = table.byPath(joinPath(from.folder, source)) ?? table.byPath(source);
    if (beside !== undefined) return [beside.id];
    const name = source.slice(source.lastIndexOf("/") + 1).replace(/\.[^.]+$/, "");
    const ends = table.byStem.get(name).filter((id) => table.file(id)?.path.endsWith(`/${source}`));
    return ends.length === 1 ? ends : [];
  };

const createRequires =
  (table: Table) =>
  (from: FileRecord, source: string): readonly number[] => {
    const beside = table.byPath(`${joinPath(from.folder, source).replace(/\.rb$/, "")}.rb`);
    if (beside !== undefined) return [beside.id];
    const plain = source.replace(/^(?:\.{1,2}\/)+/, "").replace(/\.rb$/, "");
    const stem = plain.slice(plain.lastIndexOf("/") + 1);
    const ends = table.byStem.get(stem).filter((id) => table.file(id)?.path.endsWith(`${plain}.rb`));
    return ends.length === 1 ? ends : [];
  };

export const createModules = (table: Table, config: ConfigFiles): Modules => {
  const ecmascript = createEcmascriptModules(table, config);
  const python = createPythonModules(table);
  const go = createGoModules(table, config);
  const rust = createRustModules(table, config);
  const includes = createIncludes(table);
  const requires = createRequires(table);
  const cache = new Map<string, readonly number[]>();
  let cachedAt = -1;

  const find = (from: FileRecord, source: string): readonly number[] => {
    switch (from.family) {
      case "ecmascript":
        return ecmascript(from, source);
      case "python":
        return python(from, source);
      case "go":
        return go(from, source);
      case "rust":
        return rust(from, source);
      case "c":
        return includes(from, source);
      case "ruby":
        return requires(from, source);
      default:
        return table.inModule.get(moduleKey(from.family, source));
    }
  };
  const files = (from: FileRecord, source: string): readonly number[] => {
    if (cachedAt !== table.generation) {
      cache.clear();
      cachedAt = table.generation;
    }
    const key = `${from.folder}\n${from.family === "rust" ? from.path : from.family}\n${source}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const found = find(from, source);
    cache.set(key, found);
    return found;
  };

  return {
    files,
    inner: (from, source, name) => {
      if (from.family === "python")
        return files(from, source.endsWith(".") || source === "" ? source + name : `${source}.${name}`);
      return from.family === "rust" ? files(from, `${source}::${name}`) : [];
    },
    isOurs: (from, source) => {
      if (from.family === "python") return /^\./.test(source);
      return (
        /^(?:jvm|csharp|php)$/.test(from.family) &&
        table.inModule.get(moduleKey(from.family, parentOf(source))).length > 0
      );
    },
  };
};

const parentOf = (source: string): string => {
  const dot = Math.max(source.lastIndexOf("."), source.lastIndexOf("\\"));
  return dot < 0 ? "" : source.slice(0, dot);
};
