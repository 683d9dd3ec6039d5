import type { ConfigFiles } from "../../project/config-files.ts";
import type { ProjectFiles, ResolveSource } from "../../project/family.ts";
import { joinPath } from "../../project/paths.ts";
import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { rules } from "./rules.ts";

const moduleOf = (text: string, folder: string) => {
  const module = /^module\s+"?([^\s"]+)/m.exec(text)?.[1];
  return module === undefined ? undefined : { folder, module };
};

/** An import path means a folder: by the nearest go.mod, or by the longest end of the path that is a folder. */
const createPackages =
  (files: ProjectFiles, config: ConfigFiles): ResolveSource =>
  (from, source) => {
    const own = config.nearest(from.folder, "go.mod", moduleOf);
    const filesIn = (folder: string): readonly number[] =>
      files.inFolder.get(folder).filter((id) => files.file(id)?.family === from.family);
    if (own !== undefined && (source === own.module || source.startsWith(`${own.module}/`)))
      return filesIn(joinPath(own.folder, source.slice(own.module.length)));
    const parts = source.split("/");
    // A path without a dot in its first part is of the standard library.
    if (!(parts[0] ?? "").includes(".")) return [];
    for (let first = 1; first < parts.length; first++) {
      const found = filesIn(parts.slice(first).join("/"));
      if (found.length > 0) return found;
    }
    return own === undefined && parts.length <= 4 ? filesIn("") : [];
  };

export const go: SymbolLanguage = {
  ids: ["go"],
  rules,
  family: {
    name: "go",
    reach: "folder",
    createModules: createPackages,
    configFiles: /^go\.mod$/,
    hidesWildcards: true,
    methodsShareFolder: true,
  },
};
