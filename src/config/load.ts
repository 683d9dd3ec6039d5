import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { LlmcError } from "../base/error.ts";
import { type Environment, readEnvironment, unknownVariables } from "./environment.ts";
import type { Origin, Setting } from "./layer.ts";
import { type Overrides, readOverrides } from "./overrides.ts";
import { buildConfig, type Config, ENTRIES } from "./sections.ts";
import type { FileLayer } from "./toml-file.ts";

/** What this room needs of the machine. */
export interface ConfigDisk {
  readText(path: string): Promise<string | undefined>;
  watch(path: string, changed: () => void): () => void;
}

export interface LoadRequest {
  readonly disk: Pick<ConfigDisk, "readText">;
  readonly env: Environment;
  /** The workspace, absolute. */
  readonly root: string;
  /** A file the operator named, which must exist; relative to the root. Without it, `llmc.toml` in the root is optional. */
  readonly configPath?: string | undefined;
  readonly overrides?: Overrides | undefined;
  /** Whether the origin of a file's value has its line. Costs some 10 ms, which a server's start can do without. */
  readonly lines?: boolean | undefined;
}

export interface Loaded {
  readonly config: Config;
  readonly origins: ReadonlyMap<string, Origin>;
  /** The file that was read, if there was one. */
  readonly file: string | undefined;
  /** Where a file was looked for: the place to watch. */
  readonly lookedAt: string;
  readonly warnings: readonly string[];
}

const FILE_NAME = "llmc.toml";
const MOST_PROBLEMS = 20;

const displayName = (root: string, path: string): string => {
  const inside = relative(root, path);
  const leaves = inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return leaves ? path : inside;
};

const refuse = (problems: readonly string[], cause?: unknown): LlmcError => {
  const more = problems.length - MOST_PROBLEMS;
  const lines = problems.slice(0, MOST_PROBLEMS);
  if (more > 0) lines.push(`… and ${more} more ${more === 1 ? "problem" : "problems"}`);
  return new LlmcError("config_invalid", lines.join("\n"), {
    details: { problems: problems.length },
    cause,
  });
};

const readFile = async (request: LoadRequest, path: string): Promise<FileLayer | undefined> => {
  const name = displayName(request.root, path);
  let text: string | undefined;
  try {
    text = await request.disk.readText(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw refuse([`${name}: the config file cannot be read${code}`], error);
  }
  // Many workspaces have no file: they start without the parser.
  if (text !== undefined) return (await import("./toml-file.ts")).readToml(text, name, request.lines ?? true);
  if (request.configPath === undefined) return undefined;
  throw refuse([`${name}: there is no such config file`]);
};

/** For a mode that nobody named: a workspace without a file gets the new default, an older file keeps its meaning. */
const unnamedMode = (hasFile: boolean, codeExecution: boolean): Setting => {
  const rule = (value: string, detail: string): Setting => ({ value, origin: { source: "default", detail } });
  if (!hasFile) return rule("hybrid", "no config file means hybrid");
  if (codeExecution) {
    return rule("code_execution", "mcp.code_execution.enabled without a named mode means code_execution");
  }
  return rule("classic", "a config file that names no mode means classic");
};

const warningsFor = (config: Config, settings: ReadonlyMap<string, Setting>): string[] => {
  const warnings: string[] = [];
  const idle = [...settings.keys()].filter((key) => ENTRIES.get(key)?.option.planned);
  if (idle.length > 0) warnings.push(`set, but not in force yet: ${idle.join(", ")}`);
  if (config.mcp.code_execution.enabled && config.mcp.mode !== "code_execution") {
    warnings.push(`mcp.code_execution.enabled changes nothing: the mode is ${config.mcp.mode}`);
  }
  return warnings;
};

/** Variables that hold further tokens. */
const variablesOf = (entries: unknown): readonly string[] =>
  (Array.isArray(entries) ? entries.map(String) : []).flatMap((entry) => /env:(\w+)$/.exec(entry)?.[1] ?? []);

/** Variables that hold keys of model providers. */
const keyVariables = (settings: ReadonlyMap<string, Setting>): readonly string[] =>
  [...settings].flatMap(([key, { value }]) => (key.endsWith("_key_env") ? [String(value)] : []));

export const loadConfig = async (request: LoadRequest): Promise<Loaded> => {
  const path =
    request.configPath === undefined
      ? join(request.root, FILE_NAME)
      : resolve(request.root, request.configPath);
  const file = await readFile(request, path);
  const environment = readEnvironment(request.env);
  const overrides = readOverrides(request.overrides ?? {});
  const settings = new Map<string, Setting>([
    ...(file?.settings ?? []),
    ...environment.settings,
    ...overrides.settings,
  ]);

  const named = settings.get("mcp.auth.token_env")?.value;
  const further = settings.get("mcp.auth.tokens")?.value;
  const problems = [
    ...(file?.problems ?? []),
    ...environment.problems,
    // A file that cannot be parsed may have named the token's variable.
    ...(file?.broken
      ? []
      : unknownVariables(request.env, typeof named === "string" ? named : undefined, [
          ...variablesOf(further),
          ...keyVariables(settings),
        ])),
    ...overrides.problems,
  ];
  if (problems.length > 0) throw refuse(problems);

  const stated = new Map(settings);
  if (!settings.has("mcp.mode")) {
    const codeExecution = settings.get("mcp.code_execution.enabled")?.value === true;
    settings.set("mcp.mode", unnamedMode(file !== undefined, codeExecution));
  }
  const config = buildConfig(new Map([...settings].map(([key, setting]) => [key, setting.value])));
  const unset: Origin = { source: "default", detail: "" };
  return {
    config,
    origins: new Map([...ENTRIES.keys()].map((key) => [key, settings.get(key)?.origin ?? unset])),
    file: file === undefined ? undefined : path,
    lookedAt: path,
    warnings: warningsFor(config, stated),
  };
};
