/** Files that ripgrep obeys, wherever it finds them. */
export const IGNORE_NAMES: readonly string[] = [".gitignore", ".ignore", ".rgignore"];

/** In any letters: a command can tell ripgrep to read them so. */
export const isIgnoreName = (name: string): boolean => IGNORE_NAMES.includes(name.toLowerCase());
