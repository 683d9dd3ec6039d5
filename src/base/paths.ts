/** The configuration file of a workspace. */
export const CONFIG_FILE = "llmc.toml";

export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** By component, on normal absolute paths. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
