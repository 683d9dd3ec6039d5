/** The configuration file of a workspace. */
export const CONFIG_FILE = "llmc.toml";

/** By component, on normal absolute paths. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
