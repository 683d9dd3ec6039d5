import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { LlmcError } from "../base/error.ts";
import { CONFIG_FILE } from "../base/paths.ts";
import { systemErrorCode } from "../base/system-error.ts";
import { type Environment, readEnvironment, unknownVariables } from "./environment.ts";
import { type Layer, MAX_SHOWN, type Origin, type Setting } from "./layer.ts";
import type { LoadRequest } from "./load-request.ts";
import { readOverrides } from "./overrides.ts";
import { buildConfig, type Config, ENTRIES } from "./sections.ts";
import type { FileLayer } from "./toml-file.ts";
import type { ReadTrust, TrustRecord } from "./trust-record.ts";
import type { Waiting } from "./waiting.ts";
import type { WorkspaceFile } from "./workspace-file.ts";

export interface Loaded {
  readonly config: Config;
  readonly origins: ReadonlyMap<string, Origin>;
  /** The file that was read, if there was one. */
  readonly file: string | undefined;
  /** The path of the file, whether it exists or not; it is watched. */
  readonly lookedAt: string;
  /** Further files that a new configuration may come from: the user's own, and the record of trust. */
  readonly alsoFrom: readonly string[];
  /** The state of each of these files as it was before the file was read: one that changed since is another file. */
  readonly identities: readonly (readonly [path: string, identity: string | null])[];
  /** What the workspace's file asks for and does not get until it is trusted. */
  readonly waiting: readonly Waiting[];
  /** What trust is about; left out where no file of the workspace is in force. */
  readonly workspaceFile: WorkspaceFile | undefined;
  /** Digests of files that the operator trusted, by the key that names them. */
  readonly digests: TrustRecord["digests"];
  readonly warnings: readonly string[];
}

export const USER_FILE_NAME = "config.toml";

const displayName = (root: string, path: string): string => {
  const inside = relative(root, path);
  const leaves = inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return leaves ? path : inside;
};

const refuse = (problems: readonly string[], cause?: unknown): LlmcError => {
  const more = problems.length - MAX_SHOWN;
  const lines = problems.slice(0, MAX_SHOWN);
  if (more > 0) lines.push(`… and ${more} more ${more === 1 ? "problem" : "problems"}`);
  return new LlmcError("config_invalid", lines.join("\n"), {
    details: { problems: problems.length },
    cause,
  });
};

const expandHome = (value: unknown, home: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => expandHome(item, home));
  return typeof value === "string" && /^~(?:\/|$)/.test(value) ? home + value.slice(1) : value;
};

/** `~` in front of a path is the user's home, wherever the path is written. */
const withHome = <L extends Layer>(layer: L, home: string): L => ({
  ...layer,
  settings: new Map(
    [...layer.settings].map(([key, setting]) =>
      ENTRIES.get(key)?.option.path
        ? [key, { ...setting, value: expandHome(setting.value, home) }]
        : [key, setting],
    ),
  ),
});

const readFile = async (
  request: LoadRequest,
  path: string,
  source: "file" | "user",
): Promise<FileLayer | undefined> => {
  const name = displayName(request.root, path);
  let text: string | undefined;
  try {
    text = await request.disk.readText(path);
  } catch (error) {
    const code = systemErrorCode(error);
    throw refuse([`${name}: the config file cannot be read${code ? ` (${code})` : ""}`], error);
  }
  if (text === undefined) return undefined;
  // Many workspaces have no file: they start without the parser.
  const { readToml } = await import("./toml-file.ts");
  return withHome(await readToml(text, name, request.lines ?? true, source), request.folders.home);
};

/**
 * For a mode that nobody named: a workspace without a file gets the new default, and an existing file keeps the old
 * one.
 */
const unnamedMode = (hasFile: boolean, codeExecution: boolean): Setting => {
  const rule = (value: string, detail: string): Setting => ({ value, origin: { source: "default", detail } });
  if (!hasFile) return rule("hybrid", "no config file means hybrid");
  if (codeExecution) {
    return rule("code_execution", "mcp.code_execution.enabled without a named mode means code_execution");
  }
  return rule("classic", "a config file that names no mode means classic");
};

const warningsFor = (config: Config): string[] => {
  const warnings: string[] = [];
  if (config.mcp.code_execution.enabled && config.mcp.mode !== "code_execution")
    warnings.push(`mcp.code_execution.enabled has no effect: the mode is set to ${config.mcp.mode}`);
  if (!config.mcp.linux_ops.roots.enforce_roots) {
    warnings.push(
      "mcp.linux_ops.roots.enforce_roots is false: linux_* tools reach the whole file system, as far as this user does",
    );
  }
  return warnings;
};

/** Variables that hold further tokens. */
const variablesOf = (entries: unknown): readonly string[] =>
  (Array.isArray(entries) ? entries.map(String) : []).flatMap((entry) => /env:(\w+)$/.exec(entry)?.[1] ?? []);

/** Variables that the settings name: those of tokens, and of the keys of model providers. */
const variablesNamedBy = (settings: ReadonlyMap<string, Setting>): readonly string[] =>
  [...settings].flatMap(([key, { value }]) => {
    if (key === "mcp.auth.tokens") return variablesOf(value);
    return key.endsWith("_key_env") || key === "mcp.auth.token_env" ? [String(value)] : [];
  });

const problemsOf = (
  layers: { readonly user: Layer | undefined; readonly file: FileLayer | undefined },
  environment: Layer,
  overrides: Layer,
  env: Environment,
): string[] => {
  const stated = new Map([
    ...(layers.user?.settings ?? []),
    ...(layers.file?.settings ?? []),
    ...environment.settings,
    ...overrides.settings,
  ]);
  // What a workspace's file names instead may wait for trust, so the usual variable stays known.
  const operators = [layers.user?.settings, environment.settings, overrides.settings];
  const token = operators
    .findLast((settings) => settings?.has("mcp.auth.token_env"))
    ?.get("mcp.auth.token_env");
  return [
    ...(layers.user?.problems ?? []),
    ...(layers.file?.problems ?? []),
    ...environment.problems,
    // A file that cannot be parsed may have named the token's variable.
    ...(layers.file?.broken
      ? []
      : unknownVariables(
          env,
          typeof token?.value === "string" ? token.value : undefined,
          variablesNamedBy(stated),
        )),
    ...overrides.problems,
  ];
};

/** Their values name what the server executes or obeys, which may lie in a workspace. */
const NAMES_CONTENT = [
  "mcp.tools.custom_modules",
  "mcp.tools.executables",
  "mcp.kb.flows",
  "mcp.security.policy_files",
];

/** A file of the workspace may be in force, or the user may name folders that a workspace fills. */
const needsTrust = (file: FileLayer | undefined, ...others: readonly (Layer | undefined)[]): boolean =>
  file !== undefined || others.some((layer) => NAMES_CONTENT.some((key) => layer?.settings.has(key)));

const trustPathOf = async ({ folders, root }: LoadRequest): Promise<string> =>
  (await import("./trust-record.ts")).trustFile(folders.state, root);

const readTrustOf = async ({
  trust,
  folders,
  root,
}: LoadRequest): Promise<ReadTrust & { readonly path: string }> => {
  const { readTrust, trustFile } = await import("./trust-record.ts");
  return { ...(await readTrust(trust, folders.state, root)), path: trustFile(folders.state, root) };
};

export const loadConfig = async (request: LoadRequest): Promise<Loaded> => {
  const { root, folders, configPath } = request;
  const path = configPath === undefined ? join(root, CONFIG_FILE) : resolve(root, configPath);
  const userPath = join(folders.config, USER_FILE_NAME);
  const identify = (file: string) => [file, request.disk.identityOf(file)] as const;
  // Before anything is read.
  const identities = [path, userPath].map(identify);
  const user = await readFile(request, userPath, "user");
  const file = await readFile(request, path, "file");
  if (file === undefined && configPath !== undefined) {
    throw refuse([`${displayName(root, path)}: there is no such config file`]);
  }
  const environment = withHome(readEnvironment(request.env), folders.home);
  const overrides = withHome(readOverrides(request.overrides ?? {}), folders.home);
  const problems = problemsOf({ user, file }, environment, overrides, request.env);
  if (problems.length > 0) throw refuse(problems);

  const operators = new Map([...environment.settings, ...overrides.settings]);
  const isTrustRead = needsTrust(file, user, environment);
  if (isTrustRead) identities.push(identify(await trustPathOf(request)));
  const trust = isTrustRead ? await readTrustOf(request) : undefined;
  const fromFile =
    file === undefined
      ? undefined
      : await (await import("./workspace-file.ts")).judgeFile(request, path, file.settings, trust?.record, {
          user: user?.settings ?? new Map(),
          above: operators,
        });
  const settings = new Map<string, Setting>([
    ...(user?.settings ?? []),
    ...(fromFile?.settings ?? []),
    ...operators,
  ]);
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
    alsoFrom: [userPath, ...(trust === undefined ? [] : [trust.path])],
    identities,
    waiting: fromFile?.waiting ?? [],
    workspaceFile: fromFile?.workspaceFile,
    digests: trust?.record?.digests ?? {},
    warnings: [
      ...warningsFor(config),
      ...(file?.remarks ?? []),
      ...(user?.remarks ?? []),
      ...(trust?.problem === undefined ? [] : [trust.problem]),
    ],
  };
};
