import type { ConfigFiles } from "../project/config-files.ts";
import {
  type Family,
  type FileRecord,
  moduleKey,
  type ProjectFiles,
  type ResolveSource,
} from "../project/family.ts";

export const createModules = (project: ProjectFiles, config: ConfigFiles) => {
  const resolvers = new Map<Family, ResolveSource>();
  const cache = new Map<string, readonly number[]>();
  let cachedAt = -1;

  const resolverOf = (family: Family): ResolveSource => {
    const resolver =
      resolvers.get(family) ??
      family.createModules?.(project, config) ??
      ((_from, source) => project.inModule.get(moduleKey(family, source)));
    resolvers.set(family, resolver);
    return resolver;
  };
  const files = (from: FileRecord, source: string): readonly number[] => {
    if (cachedAt !== project.generation) {
      cache.clear();
      cachedAt = project.generation;
    }
    const { family, folder, path } = from;
    const key = `${folder}\n${family.sourcesDependOnFile === true ? path : family.name}\n${source}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const found = resolverOf(family)(from, source);
    cache.set(key, found);
    return found;
  };

  return {
    /** Files of the project that an import's source means; empty where it means none. */
    files,
    /** Files of a module inside another: `from package import module`. */
    inner: (from: FileRecord, source: string, name: string): readonly number[] => {
      const inner = from.family.submodule?.(source, name);
      return inner === undefined ? [] : files(from, inner);
    },
    /** The source names something of this project that has no file of its own: a class, a folder. */
    isOurs: ({ family }: FileRecord, source: string): boolean =>
      family.isOwnSource?.(project, source) === true,
  };
};

export type Modules = ReturnType<typeof createModules>;
