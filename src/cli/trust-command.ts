import { LlmcError } from "../base/error.ts";
import { plural } from "../base/text.ts";
import type { Loaded } from "../config/load.ts";
import { redactUserinfo } from "../config/redact.ts";
import { tomlInline } from "../config/toml-text.ts";
import type { TrustRecord } from "../config/trust-record.ts";
import type { Widening } from "../config/workspace-file.ts";
import { bold, type Io, onOneLine } from "./io.ts";

/** A file that is trusted by its content. */
interface TrustedFile {
  readonly file: string;
  readonly digest: string;
  /** Whether exactly this content is already granted. */
  readonly isGranted: boolean;
}

/** What trusting a workspace would grant. */
export interface TrustPlan {
  readonly workspace: string;
  /** The workspace's file; undefined if there is none or it is the operator's own. */
  readonly file: string | undefined;
  readonly values: readonly (Widening & { readonly isGranted: boolean })[];
  readonly modules: readonly TrustedFile[];
  /** Scripts that become tools, and whatever lies beside them. */
  readonly executables: readonly TrustedFile[];
  /** Declarations of flows, which call tools. */
  readonly flows: readonly TrustedFile[];
  /** Policy files with permits, which have no effect before. */
  readonly policies: readonly TrustedFile[];
  /** Folders that cannot be read completely, by the key that names them: nothing in them is granted. */
  readonly unreadable: readonly {
    readonly key: string;
    readonly folder: string;
    readonly reason: string;
  }[];
  /** Whether all of it is already granted. */
  readonly isGranted: boolean;
}

/** Trust in the workspace of this command; the wiring provides it. */
export interface Trust {
  plan(): Promise<TrustPlan>;
  grant(plan: TrustPlan): Promise<void>;
  /** Whether there was something to revoke. */
  revoke(): Promise<boolean>;
  list(): Promise<readonly TrustRecord[]>;
}

const show = (value: unknown): string => tomlInline(redactUserinfo(value));

/** Directories are granted by their real paths. */
const leadsElsewhere = (asked: unknown, grant: unknown): boolean =>
  Array.isArray(grant) && !grant.every((item) => Array.isArray(asked) && asked.includes(item));

const describeUnreadable = ({ unreadable }: TrustPlan): readonly string[] =>
  unreadable.map(
    ({ folder, reason }) =>
      `  code in ${onOneLine(folder)} cannot be read, so it cannot be trusted (${onOneLine(reason)}); none of it is loaded`,
  );

const describePlan = (plan: TrustPlan): string =>
  planLines(plan).concat(describeUnreadable(plan), "").join("\n");

const describeFiles = (title: string, files: readonly TrustedFile[]): readonly string[] => [
  ...(files.length === 0 ? [] : [`  ${title}, by file and SHA-256:`]),
  ...files.map(
    ({ file, digest, isGranted }) =>
      `    ${digest.slice(0, 12)}  ${onOneLine(file)}${isGranted ? " (already granted)" : " (not granted)"}`,
  ),
];

const planLines = ({ values, modules, executables, flows, policies }: TrustPlan): string[] => [
  ...values.flatMap(({ key, without, asked, grant, isGranted }) => [
    `  ${key}${isGranted ? " (already granted)" : ""}`,
    `    without this file  ${show(without)}`,
    `    with it            ${show(asked)}`,
    ...(leadsElsewhere(asked, grant) ? [`    which leads to     ${show(grant)}`] : []),
  ]),
  ...describeFiles("code that runs in the server", modules),
  ...describeFiles("scripts that become tools, which run as commands", executables),
  ...describeFiles("flows, whose steps call tools", flows),
  ...describeFiles("policies, which may then permit and not only forbid", policies),
];

const jsonOfFiles = (files: readonly TrustedFile[]) =>
  files.map(({ file, digest, isGranted }) => ({ file, sha256: digest, granted: isGranted }));

const UNREADABLE_NAMES: Readonly<Record<string, string>> = {
  "mcp.tools.custom_modules": "unreadable_modules",
  "mcp.tools.executables": "unreadable_executables",
  "mcp.kb.flows": "unreadable_flows",
};

/** Everything that is trusted by its content. */
const filesOf = ({ modules, executables, flows, policies }: TrustPlan): readonly TrustedFile[] => [
  ...modules,
  ...executables,
  ...flows,
  ...policies,
];

const jsonOf = ({ workspace, file, values, isGranted, ...plan }: TrustPlan) => ({
  workspace,
  file: file ?? null,
  trusted: isGranted,
  values: values.map(({ key, without, asked, grant, isGranted: granted }) => ({
    key,
    without: redactUserinfo(without),
    asked: redactUserinfo(asked),
    grant: redactUserinfo(grant),
    granted,
  })),
  modules: jsonOfFiles(plan.modules),
  executables: jsonOfFiles(plan.executables),
  flows: jsonOfFiles(plan.flows),
  policies: jsonOfFiles(plan.policies),
  ...Object.fromEntries(
    plan.unreadable.map(({ key, folder, reason }) => [UNREADABLE_NAMES[key], { folder, reason }]),
  ),
});

/** Shows what would be granted and asks for it; returns whether it was granted. */
export const askForTrust = async (trust: Trust, plan: TrustPlan, io: Io): Promise<boolean> => {
  io.out(
    `${bold(`${plan.file ?? plan.workspace} asks for more than your own configuration allows:`, io.hasColours)}\n`,
  );
  io.out(describePlan(plan));
  if (!(await io.confirm(`Trust ${plan.workspace} with this?`))) return false;
  await trust.grant(plan);
  return true;
};

const listTrusted = async (trust: Trust, io: Io, json: boolean): Promise<void> => {
  const records = await trust.list();
  if (json) io.data(`${JSON.stringify(records, null, 2)}\n`);
  else if (records.length === 0) io.out("No workspace is trusted.\n");
  for (const { workspace, values, digests } of json ? [] : records) {
    const files = Object.values(digests).reduce((sum, folder) => sum + Object.keys(folder).length, 0);
    const granted = [...Object.keys(values), ...(files === 0 ? [] : [`${plural(files, "file")} by content`])];
    io.out(
      `${onOneLine(workspace)}\n  ${granted.length === 0 ? "nothing beyond your own configuration" : granted.join(", ")}\n`,
    );
  }
};

const revoke = async (trust: Trust, io: Io): Promise<void> => {
  const { workspace } = await trust.plan().catch(() => ({ workspace: "The workspace" }));
  io.out((await trust.revoke()) ? `${workspace} is no longer trusted.\n` : `${workspace} was not trusted.\n`);
};

export const runTrust = async (
  trust: Trust,
  io: Io,
  options: { readonly yes?: true; readonly revoke?: true; readonly list?: true; readonly json?: true },
): Promise<void> => {
  if (options.list) return listTrusted(trust, io, options.json ?? false);
  if (options.revoke) return revoke(trust, io);
  const plan = await trust.plan();
  if (plan.isGranted) {
    io[options.json ? "data" : "out"](
      options.json
        ? `${JSON.stringify(jsonOf(plan), null, 2)}\n`
        : `${plan.workspace}: there is nothing to trust${plan.file === undefined ? "" : `; everything that ${plan.file} asks for is granted`}.\n`,
    );
    if (!options.json) for (const line of describeUnreadable(plan)) io.out(`${line}\n`);
    return;
  }
  if (options.yes) {
    await trust.grant(plan);
    if (options.json) io.data(`${JSON.stringify({ ...jsonOf(plan), trusted: true }, null, 2)}\n`);
    else io.out(`${describePlan(plan)}${plan.workspace} is trusted with this.\n`);
    return;
  }
  if (io.canAsk && !options.json) {
    const isTrusted = await askForTrust(trust, plan, io);
    io.out(isTrusted ? `${plan.workspace} is trusted with this.\n` : "Nothing was granted.\n");
    return;
  }
  io[options.json ? "data" : "out"](
    options.json ? `${JSON.stringify(jsonOf(plan), null, 2)}\n` : describePlan(plan),
  );
  throw new LlmcError(
    "forbidden",
    "Nothing was granted, because there is no terminal to ask for confirmation.",
    {
      hint: "Review it, then run llmc trust --yes.",
    },
  );
};

/** `llmc repo validate`. The loader has already refused an invalid file. */
export const validateRepo = async (
  loaded: Loaded,
  trust: Trust,
  io: Io,
  { json, problems }: { readonly json: boolean; readonly problems: readonly string[] },
): Promise<void> => {
  const plan = await trust.plan();
  if (json) {
    const found = { warnings: loaded.warnings, policy_problems: problems };
    io.data(`${JSON.stringify({ ...jsonOf(plan), ...found }, null, 2)}\n`);
    return;
  }
  for (const warning of loaded.warnings) io.err(`note: ${warning}\n`);
  for (const problem of problems)
    io.err(`error: ${problem}\nEverything is refused until this policy is fixed: llmc policy check.\n`);
  io.out(
    loaded.file === undefined
      ? `${plan.workspace} has no llmc.toml: the defaults apply.\n`
      : `${loaded.file} is valid.\n`,
  );
  const asked = plan.values.length + filesOf(plan).length;
  if (loaded.file === undefined && asked === 0) return;
  if (asked === 0) io.out("It asks for nothing beyond your own configuration.\n");
  else {
    io.out(
      `It ${plan.isGranted ? "allows, as you have granted" : "would allow, if you trust it (llmc trust)"}:\n`,
    );
    io.out(describePlan(plan));
  }
};
