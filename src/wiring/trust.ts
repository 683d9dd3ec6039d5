import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { isMissing } from "../base/system-error.ts";
import type { Io } from "../cli/io.ts";
import { askForTrust, type Trust, type TrustPlan } from "../cli/trust-command.ts";
import type { Loaded } from "../config/load.ts";
import type { LoadRequest } from "../config/load-request.ts";
import { redactUserinfo } from "../config/redact.ts";
import { parseTrustRecord, readTrust, type TrustRecord, trustFile } from "../config/trust-record.ts";
import { trustFolder } from "../config/user-folders.ts";
import { auditSettings } from "../host/audit/settings.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { digestExecutables } from "../host/trust/executable-source.ts";
import { createTrustFiles } from "../host/trust/trust-files.ts";
import { digestFolder } from "../host/trust/trusted-modules.ts";
import type { AppRequest } from "./app.ts";
import { EXECUTABLES_KEY, FLOWS_KEY, loadFor, MODULES_KEY, POLICIES_KEY } from "./load.ts";
import { policiesToTrust } from "./policy-texts.ts";
import { recordGrants } from "./record-grants.ts";
import { digestFlowFiles, FOLDER_KEYS, type FolderKey, folderToTrust } from "./workspace-content.ts";

type Digests = TrustRecord["digests"][string];

type Request = Pick<AppRequest, "root" | "folders" | "env" | "overrides" | "configPath">;

/** Why a folder cannot be used, according to the system or to us, without its path. */
const reasonOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown reason";
  return "code" in thrown ? String(thrown.code) : thrown.message;
};

interface FolderPlan {
  readonly files: TrustPlan["modules"];
  readonly unreadable?: { readonly folder: string; readonly reason: string };
}

const DIGESTS_OF: Readonly<Record<FolderKey, (folder: string) => Digests | Promise<Digests>>> = {
  [MODULES_KEY]: digestFolder,
  [EXECUTABLES_KEY]: digestExecutables,
  [FLOWS_KEY]: digestFlowFiles,
};

/** What a folder holds now, if its content is the workspace's. */
const folderPlan = async (request: Request, loaded: Loaded, key: FolderKey): Promise<FolderPlan> => {
  const folder = folderToTrust(loaded, request, key);
  if (folder === undefined) return { files: [] };
  const granted = loaded.digests[key] ?? {};
  try {
    const files = Object.entries(await DIGESTS_OF[key](resolve(request.root, folder))).map(
      ([file, found]) => ({ file, digest: found, isGranted: granted[file] === found }),
    );
    return { files };
  } catch (thrown) {
    // The user's own file names it for all workspaces, and most have no such folder.
    const isAskedFor = loaded.workspaceFile?.widening.some((one) => one.key === key) === true;
    if (isMissing(thrown) && !isAskedFor) return { files: [] };
    return { files: [], unreadable: { folder, reason: reasonOf(thrown) } };
  }
};

/** What waits for trust, and what has it: values of the workspace's file, its code, and policies of the workspace. */
const planFrom = async (request: Request, loaded: Loaded): Promise<TrustPlan> => {
  const { file, waiting, workspaceFile } = loaded;
  const values = (workspaceFile?.widening ?? []).map((one) => ({
    ...one,
    isGranted: !waiting.some(({ key }) => key === one.key),
  }));
  const plans = await Promise.all(FOLDER_KEYS.map((key) => folderPlan(request, loaded, key)));
  const [modules = [], executables = [], flows = []] = plans.map(({ files }) => files);
  const policies = policiesToTrust(loaded, request);
  return {
    workspace: request.root,
    file: workspaceFile === undefined ? undefined : file,
    values,
    modules,
    executables,
    flows,
    policies,
    isGranted: [...values, ...modules, ...executables, ...flows, ...policies].every((one) => one.isGranted),
    unreadable: FOLDER_KEYS.flatMap((key, at) => {
      const found = plans[at]?.unreadable;
      return found === undefined ? [] : { ...found, key };
    }),
  };
};

const planFor = async (request: Request, disk?: LoadRequest["disk"]): Promise<TrustPlan> =>
  planFrom(request, await loadFor(request, false, disk));

/** The record with some entries of lists more; what else the file asks for stays as it was. */
const recordWith = (
  { workspace, values }: TrustPlan,
  old: TrustRecord | undefined,
  added: ReadonlyMap<string, readonly string[]>,
): TrustRecord => {
  const grants = [...added].flatMap(([key, items]) => {
    const asked = values.find((one) => one.key === key)?.grant;
    const before = old?.values[key];
    const granted = Array.isArray(before) ? before.map(String) : [];
    const more = (Array.isArray(asked) ? asked : []).filter((item) => items.includes(String(item)));
    const all = [...new Set([...granted, ...more])];
    return all.length === 0 ? [] : [[key, all] as const];
  });
  return {
    version: 1,
    workspace,
    values: { ...old?.values, ...Object.fromEntries(grants) },
    digests: old?.digests ?? {},
  };
};

const digestsOf = (key: string, files: TrustPlan["modules"]): TrustRecord["digests"] =>
  files.length === 0 ? {} : { [key]: Object.fromEntries(files.map(({ file, digest }) => [file, digest])) };

const recordOf = ({ workspace, values, modules, executables, flows, policies }: TrustPlan): TrustRecord => ({
  version: 1,
  workspace,
  values: Object.fromEntries(values.map(({ key, grant }) => [key, grant])),
  digests: {
    ...digestsOf(MODULES_KEY, modules),
    ...digestsOf(EXECUTABLES_KEY, executables),
    ...digestsOf(FLOWS_KEY, flows),
    ...digestsOf(POLICIES_KEY, policies),
  },
});

const writeRecord = async ({ folders, root }: Request, record: TrustRecord): Promise<void> => {
  const files = createTrustFiles();
  const folder = trustFolder(folders.state);
  try {
    await files.makeFolder(folder);
    await files.writeRecord(trustFile(folders.state, root), `${JSON.stringify(record, null, 2)}\n`);
  } catch (cause) {
    throw new LlmcError("unavailable", `Trust could not be recorded in ${folder}.`, {
      hint: "The folder must belong to you and be writable; XDG_STATE_HOME says where it is.",
      cause,
    });
  }
};

/** Records what a plan shows, even if the files have changed since. */
export const writePlan = (request: Request, plan: TrustPlan): Promise<void> =>
  writeRecord(request, recordOf(plan));

/** What a record grants, as the audit trail says it: a key of the configuration and one item of it, or a file. */
const itemsOf = (record: TrustRecord | undefined): readonly string[] => [
  ...Object.entries(record?.values ?? {}).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => `${key} ${String(redactUserinfo(item))}`),
  ),
  ...Object.entries(record?.digests ?? {}).flatMap(([key, files]) =>
    Object.entries(files).map(([file, digest]) => `${key} ${file} sha256:${digest.slice(0, 12)}`),
  ),
];

const oldRecord = async ({ folders, root }: Request): Promise<TrustRecord | undefined> =>
  (await readTrust(createTrustFiles(), folders.state, root)).record;

/** Records in the audit trail what trust grants that it did not before, and what it no longer does. */
const noteChange = async (
  { root, folders }: Request,
  { config }: Loaded,
  before: TrustRecord | undefined,
  after: TrustRecord | undefined,
): Promise<void> => {
  const [old, now] = [itemsOf(before), itemsOf(after)];
  const where = { root, userState: folders.state, settings: auditSettings(config.mcp.audit) };
  await recordGrants(where, [
    ...now.filter((item) => !old.includes(item)).map((granted) => ({ granted, scope: "always" as const })),
    ...old.filter((item) => !now.includes(item)).map((granted) => ({ granted, scope: "revoked" as const })),
  ]);
};

/** Taking trust back always works; that it was is recorded where the workspace is still there. */
const revoke = async (request: Request): Promise<boolean> => {
  const before = await oldRecord(request);
  const path = trustFile(request.folders.state, request.root);
  const wasTrusted = await createTrustFiles().removeRecord(path);
  if ((await createDisk().resolveFile(request.root)) === undefined) return wasTrusted;
  try {
    await noteChange(request, await loadFor(request), before, undefined);
  } catch (cause) {
    throw new LlmcError("audit_unavailable", "Trust was taken back, but that could not be recorded.", {
      hint: "llmc audit verify and llmc config validate say what is wrong.",
      cause,
    });
  }
  return wasTrusted;
};

/** Records of trust are stored in the user's state folder, where no workspace reaches. */
export const createTrust = (request: Request): Trust => {
  const files = createTrustFiles();
  const folder = trustFolder(request.folders.state);
  return {
    plan: () => planFor(request),
    grant: async (plan) => {
      await noteChange(request, await loadFor(request), await oldRecord(request), recordOf(plan));
      await writePlan(request, plan);
    },
    revoke: () => revoke(request),
    list: async () => {
      const texts = await Promise.all(
        (await files.listRecords(folder)).map((one) => files.readRecord(one).catch(() => undefined)),
      );
      return texts.flatMap((text) => (text === undefined ? [] : (parseTrustRecord(text) ?? [])));
    },
  };
};

/** Asks the person at the terminal, if something waits for trust. */
export const offerTrust = async (request: Request, io: Io): Promise<void> => {
  const trust = createTrust(request);
  const plan = await trust.plan();
  if (!plan.isGranted) await askForTrust(trust, plan, io);
};

/**
 * Trusts what this program has just written for the operator: the values of the text itself, whatever lies at the path by
 * now. A command that is still running could have replaced the file in between. Files of the workspace are not part of it.
 */
export const trustWritten = async (
  request: Request,
  file: string,
  text: string,
  { isRecorded }: { readonly isRecorded: boolean },
): Promise<void> => {
  const disk = createDisk();
  const real = disk.realOrFuture(file);
  const loaded = await loadFor(request, false, {
    realOrFuture: disk.realOrFuture,
    identityOf: disk.identityOf,
    readText: async (path) => (disk.realOrFuture(path) === real ? text : disk.readText(path)),
  });
  const plan = await planFrom(request, loaded);
  if (plan.file === undefined) return;
  const old = await oldRecord(request);
  const record = { ...recordOf(plan), digests: old?.digests ?? {} };
  if (!isRecorded) await noteChange(request, loaded, old, record);
  await writeRecord(request, record);
};

/** Trusts entries of lists that this program has just added to the workspace's file, and nothing else in it. */
export const trustAdded = async (
  request: Request,
  added: ReadonlyMap<string, readonly string[]>,
): Promise<void> => {
  const plan = await planFor(request);
  if (plan.file === undefined) return;
  await writeRecord(request, recordWith(plan, await oldRecord(request), added));
};
