import type { ProjectFiles, ResolveSource } from "../../project/family.ts";
import { nameOf } from "../../project/paths.ts";
import type { SymbolLanguage } from "../../rules/symbol-language.ts";
import { rules, WHOLE_MODULE } from "./rules.ts";

const sharedChars = (a: string, b: string): number => {
  let count = 0;
  while (count < a.length && a[count] === b[count]) count++;
  return count;
};

/** `require "a.b"` means `a/b.lua` or `a/b/init.lua` in some folder; the one nearest to the file where there are several. */
const createModules =
  (files: ProjectFiles): ResolveSource =>
  (from, source) => {
    const path = source.replaceAll(".", "/");
    const ends = [`/${path}.lua`, `/${path}/init.lua`];
    const [best] = files.byStem
      .get(nameOf(path))
      .flatMap((id) => files.file(id) ?? [])
      .filter((file) => ends.some((end) => `/${file.path}`.endsWith(end)))
      .sort(
        (a, b) =>
          sharedChars(b.path, from.path) - sharedChars(a.path, from.path) || (a.path < b.path ? -1 : 1),
      );
    return best === undefined ? [] : [best.id];
  };

export const lua: SymbolLanguage = {
  ids: ["lua"],
  rules,
  family: {
    name: "lua",
    reach: "project",
    createModules,
    folderModules: ["init"],
    wholeModule: WHOLE_MODULE,
    membersNeedReceiver: true,
  },
};
