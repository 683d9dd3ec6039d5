import type { FileRecord, ProjectFiles, ResolveSource } from "../../project/family.ts";

const fileAt = (files: ProjectFiles, path: string): FileRecord | undefined => {
  for (const candidate of [
    `${path}.py`,
    `${path}/__init__.py`,
    `${path}.pyi`,
    `${path}/__init__.pyi`,
    `${path}.pyx`,
  ]) {
    const found = files.byPath(candidate.replace(/^\//, ""));
    if (found !== undefined) return found;
  }
  return undefined;
};

const sharedDepth = (a: string, b: string): number => {
  const left = a.split("/");
  const right = b.split("/");
  let depth = 0;
  while (depth < left.length && left[depth] === right[depth]) depth++;
  return depth;
};

/** Files that `import a.b.c`, `from ..a import b` mean. A module path is tried from every folder above the importer, then anywhere. */
export const createPythonModules =
  (files: ProjectFiles): ResolveSource =>
  (from, source) => {
    const dots = /^\.*/.exec(source)?.[0].length ?? 0;
    const path = source.slice(dots).replaceAll(".", "/");
    if (dots > 0) {
      let folder = from.folder;
      for (let up = 1; up < dots; up++)
        folder = folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "";
      const base = path === "" ? folder : folder === "" ? path : `${folder}/${path}`;
      const found = path === "" ? (fileAt(files, base) ?? undefined) : fileAt(files, base);
      return found === undefined ? [] : [found.id];
    }
    if (path === "") return [];
    for (
      let folder = from.folder;
      ;
      folder = folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : ""
    ) {
      const found = fileAt(files, folder === "" ? path : `${folder}/${path}`);
      // Only a script imports from its own folder: inside a package, `import json` does not mean `json.py` beside it.
      if (found !== undefined && (folder === "" || files.byPath(`${folder}/__init__.py`) === undefined))
        return [found.id];
      if (folder === "") break;
    }
    const stem = path.slice(path.lastIndexOf("/") + 1);
    const others = files.byStem
      .get(stem)
      .map((id) => files.file(id))
      .filter((file) => file !== undefined)
      .filter(({ path: known, folder }) => {
        const root = [`/${path}.py`, `/${path}/__init__.py`, `/${path}.pyi`].find((end) =>
          known.endsWith(end),
        );
        if (root === undefined) return false;
        const above = known.slice(0, known.length - root.length);
        return folder !== "" && files.byPath(`${above}/__init__.py`) === undefined;
      })
      .sort(
        (a, b) =>
          sharedDepth(b.path, from.path) - sharedDepth(a.path, from.path) ||
          a.path.length - b.path.length ||
          (a.path < b.path ? -1 : 1),
      );
    const [best] = others;
    return best === undefined ? [] : [best.id];
  };
