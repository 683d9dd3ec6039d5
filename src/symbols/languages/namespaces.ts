import { type Family, moduleKey, type ProjectFiles } from "../project/family.ts";

/** `a.b.Store`: a class has no file by its name alone, but files of the project are in `a.b`. */
export const isOwnNamespace = (family: Family, files: ProjectFiles, source: string): boolean => {
  const end = Math.max(source.lastIndexOf("."), source.lastIndexOf("\\"));
  return files.inModule.get(moduleKey(family, end < 0 ? "" : source.slice(0, end))).length > 0;
};
