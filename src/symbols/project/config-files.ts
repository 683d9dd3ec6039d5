import { folderOf } from "./table.ts";

export type ReadConfig = (path: string) => string | undefined;

export interface PackageConfig {
  readonly folder: string;
  readonly name: string;
  /** The whole of package.json. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Paths of tsconfig, from the folder they are relative to. */
export interface PathAliases {
  readonly folder: string;
  readonly paths: readonly (readonly [pattern: string, targets: readonly string[]])[];
  readonly hasBase: boolean;
}

export interface ConfigFiles {
  /** Of a folder itself, not of those above. */
  packageIn(folder: string): PackageConfig | undefined;
  /** Of the nearest folder that has one. */
  aliasesFor(folder: string): PathAliases | undefined;
  /** Module path of the nearest go.mod, and its folder. */
  goModuleFor(folder: string): { readonly folder: string; readonly module: string } | undefined;
  goModuleIn(folder: string): string | undefined;
  crateIn(folder: string): string | undefined;
  forget(): void;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON with comments and trailing commas, as tsconfig has it. Strings are kept as they are. */
const parseLoose = (text: string): unknown => {
  const plain = text
    .replace(/^\uFEFF/, "")
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, kept: string | undefined) => kept ?? "")
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, kept: string | undefined) => kept ?? "");
  try {
    return JSON.parse(plain);
  } catch {
    return undefined;
  }
};

export const joinPath = (folder: string, relative: string): string => {
  const parts: string[] = folder === "" ? [] : folder.split("/");
  for (const part of relative.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
};

const inFolder = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

/** What the configuration files of a project say about names of modules; each is read once. */
export const createConfigFiles = (read: ReadConfig): ConfigFiles => {
  const cache = new Map<string, unknown>();
  const once = <T>(key: string, find: () => T): T => {
    if (cache.has(key)) return cache.get(key) as T;
    const found = find();
    cache.set(key, found);
    return found;
  };
  const above = <T>(kind: string, folder: string, find: (folder: string) => T | undefined): T | undefined =>
    once(`${kind} ${folder}`, () => {
      const found = find(folder);
      if (found !== undefined || folder === "") return found;
      return above(kind, folderOf(folder), find);
    });

  const aliasesIn = (folder: string, name = "tsconfig.json", hops = 4): PathAliases | undefined => {
    const json = parseLoose(read(inFolder(folder, name)) ?? "");
    if (!isRecord(json)) return undefined;
    const options = isRecord(json["compilerOptions"]) ? json["compilerOptions"] : {};
    const base = options["baseUrl"];
    const paths = options["paths"];
    if (isRecord(paths) || typeof base === "string")
      return {
        folder: joinPath(folder, typeof base === "string" ? base : "."),
        hasBase: typeof base === "string",
        paths: Object.entries(isRecord(paths) ? paths : {}).map(([pattern, targets]) => [
          pattern,
          Array.isArray(targets) ? targets.filter((target) => typeof target === "string") : [],
        ]),
      };
    const parent = json["extends"];
    if (typeof parent !== "string" || !parent.startsWith(".") || hops === 0)
      return { folder, paths: [], hasBase: false };
    const target = joinPath(folder, parent.endsWith(".json") ? parent : `${parent}.json`);
    return aliasesIn(folderOf(target), target.slice(target.lastIndexOf("/") + 1), hops - 1);
  };

  const goModuleIn = (folder: string): string | undefined =>
    once(
      `go.mod ${folder}`,
      () => /^module\s+"?([^\s"]+)/m.exec(read(inFolder(folder, "go.mod")) ?? "")?.[1],
    );

  return {
    packageIn: (folder) =>
      once(`package ${folder}`, () => {
        const json = parseLoose(read(inFolder(folder, "package.json")) ?? "");
        if (!isRecord(json) || typeof json["name"] !== "string") return undefined;
        return { folder, name: json["name"], json };
      }),
    aliasesFor: (folder) => above("tsconfig", folder, (at) => aliasesIn(at)),
    goModuleIn,
    goModuleFor: (folder) =>
      above("go", folder, (at) => {
        const module = goModuleIn(at);
        return module === undefined ? undefined : { folder: at, module };
      }),
    crateIn: (folder) =>
      once(`crate ${folder}`, () => {
        const text = read(inFolder(folder, "Cargo.toml")) ?? "";
        return /^\[package\][^[]*?^name\s*=\s*"([^"]+)"/ms.exec(text)?.[1]?.replaceAll("-", "_");
      }),
    forget: () => cache.clear(),
  };
};
