import type { Family, ProjectFiles, ResolveSource } from "../../project/family.ts";
import { joinPath, nameOf } from "../../project/paths.ts";
import { generic } from "../../rules/generic.ts";
import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { rules } from "./rules.ts";

/** `#include "a/b.h"`: beside the file, from the top, or the only path that ends so. */
const createIncludes =
  (files: ProjectFiles): ResolveSource =>
  (from, source) => {
    const beside = files.byPath(joinPath(from.folder, source)) ?? files.byPath(source);
    if (beside !== undefined) return [beside.id];
    const stem = nameOf(source).replace(/\.[^.]+$/, "");
    const ends = files.byStem.get(stem).filter((id) => files.file(id)?.path.endsWith(`/${source}`));
    return ends.length === 1 ? ends : [];
  };

const family: Family = {
  name: "c",
  reach: "project",
  createModules: createIncludes,
  declaresAcrossFiles: true,
  ignoresNamespaces: true,
};

export const c: SymbolLanguage = { ids: ["c", "cpp", "cuda", "arduino"], rules, family };

export const objc: SymbolLanguage = { ids: ["objc"], rules: generic, family };
