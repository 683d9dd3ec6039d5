/** The configuration file of a workspace. */
export const CONFIG_FILE = "llmc.toml";

export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Whether a folder above a normal absolute path, not the path itself, is one of these. */
export const isBelowOneOf = (path: string, folders: ReadonlySet<string>): boolean => {
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    if (folders.has(path.slice(0, at))) return true;
  return path !== "/" && folders.has("/");
};

/** By component, on normal absolute paths. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);

/** As messages name a path of the workspace: from there, and not by where that lies on the machine. */
export const nameWithin = (workspace: string, path: string): string => {
  if (path === workspace) return ".";
  return workspace !== "/" && isInside(path, workspace) ? path.slice(workspace.length + 1) : path;
};
