import { folderOf } from "./paths.ts";

export type ReadConfig = (path: string) => string | undefined;

/** The project's configuration files, each parsed once until `forget`. */
export interface ConfigFiles {
  read: ReadConfig;
  /** The file of that name in a folder; undefined where there is none, or where `parse` returns nothing. */
  parsed<T>(
    folder: string,
    name: string,
    parse: (text: string, folder: string) => T | undefined,
  ): T | undefined;
  /** The same, of the nearest folder at or above this one that has it. */
  nearest<T>(
    folder: string,
    name: string,
    parse: (text: string, folder: string) => T | undefined,
  ): T | undefined;
  forget(): void;
}

export const createConfigFiles = (read: ReadConfig): ConfigFiles => {
  const cache = new Map<string, unknown>();
  const once = <T>(key: string, find: () => T): T => {
    if (cache.has(key)) return cache.get(key) as T;
    const found = find();
    cache.set(key, found);
    return found;
  };
  const config: ConfigFiles = {
    read,
    parsed: (folder, name, parse) =>
      once(`in ${folder}/${name}`, () => {
        const text = read(folder === "" ? name : `${folder}/${name}`);
        return text === undefined ? undefined : parse(text, folder);
      }),
    nearest: (folder, name, parse) =>
      once(`above ${folder}/${name}`, () => {
        const found = config.parsed(folder, name, parse);
        if (found !== undefined || folder === "") return found;
        return config.nearest(folderOf(folder), name, parse);
      }),
    forget: () => cache.clear(),
  };
  return config;
};
