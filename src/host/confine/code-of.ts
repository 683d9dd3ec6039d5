import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../base/paths.ts";

const andAbove = (folder: string): readonly string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...andAbove(dirname(folder))];

/** Where imports of code in a folder are looked for. */
const modulesAbove = (folder: string): readonly string[] =>
  andAbove(folder)
    .map((at) => join(at, "node_modules"))
    .filter((path) => existsSync(path));

/** The packages in a folder of packages that are links: `npm link`, workspaces and pnpm make them. */
const linkedPackages = (modules: string): readonly string[] =>
  readdirSync(modules, { withFileTypes: true }).flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.isDirectory() && entry.name.startsWith("@")) return linkedPackages(path);
    return entry.isSymbolicLink() && existsSync(path) ? [realpathSync.native(path)] : [];
  });

/** Folders of packages, and those that links in them lead to, with what these import in turn. */
const withLinked = (modules: readonly string[]): readonly string[] => {
  const found = new Set(modules);
  for (const folder of found) {
    if (folder.split("/").at(-1) !== "node_modules") continue;
    for (const linked of linkedPackages(folder)) {
      if ([...found].some((known) => isInside(linked, realpathSync.native(known)))) continue;
      for (const path of [linked, ...modulesAbove(linked)]) found.add(path);
    }
  }
  return [...found];
};

/** A folder of our code, the package.json that it belongs to, and everything that its imports are looked for in. */
export const codeOf = (folder: string): readonly string[] => {
  const above = andAbove(dirname(folder));
  const manifest = above.map((at) => join(at, "package.json")).find((path) => existsSync(path));
  return [
    folder,
    ...(manifest === undefined ? [] : [manifest]),
    ...withLinked(modulesAbove(dirname(folder))),
  ];
};
