import { isRecord } from "../../../base/is-record.ts";
import type { ConfigFiles } from "../../project/config-files.ts";
import { folderOf, joinPath } from "../../project/paths.ts";

type Json = Readonly<Record<string, unknown>>;

export interface PackageConfig {
  readonly folder: string;
  readonly name: string;
  readonly json: Json;
}

/** Paths of tsconfig, and the folder that they are relative to. */
export interface PathAliases {
  readonly folder: string;
  readonly paths: readonly (readonly [pattern: string, targets: readonly string[]])[];
  readonly hasBase: boolean;
}

/** How many `extends` of tsconfig are followed. */
const MAX_HOPS = 4;

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

export const packageOf = (text: string, folder: string): PackageConfig | undefined => {
  const json = parseLoose(text);
  return isRecord(json) && typeof json["name"] === "string"
    ? { folder, name: json["name"], json }
    : undefined;
};

export const aliasesOf = (
  config: ConfigFiles,
  text: string,
  folder: string,
  hops = MAX_HOPS,
): PathAliases | undefined => {
  const json = parseLoose(text);
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
  return aliasesOf(config, config.read(target) ?? "", folderOf(target), hops - 1);
};
