import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { Io } from "../cli/io.ts";
import { askForTrust, type Trust, type TrustPlan } from "../cli/trust-command.ts";
import type { LoadRequest } from "../config/load-request.ts";
import { parseTrustRecord, readTrust, type TrustRecord, trustFile } from "../config/trust-record.ts";
import { trustFolder } from "../config/user-folders.ts";
import type { WorkspaceFile } from "../config/workspace-file.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { createTrustFiles } from "../host/trust/trust-files.ts";
import { digestFolder } from "../host/trust/trusted-modules.ts";
import type { AppRequest } from "./app.ts";
import { loadFor, MODULES_KEY, POLICIES_KEY } from "./load.ts";
import { readPolicyTexts } from "./policy-texts.ts";

type Request = Pick<AppRequest, "root" | "folders" | "env" | "overrides" | "configPath">;

/** Why a folder cannot be used, according to the system or to us, without its path. */
const reasonOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown reason";
  return "code" in thrown ? String(thrown.code) : thrown.message;
};

/** The modules that the file brings, as they are now. */
const modulesOf = (
  root: string,
  { widening, digests }: WorkspaceFile,
): Pick<TrustPlan, "modules" | "unreadable"> => {
  const folder = widening.find(({ key }) => key === MODULES_KEY)?.asked;
  if (typeof folder !== "string" || folder === "") return { modules: [] };
  const granted = digests[MODULES_KEY] ?? {};
  try {
    const modules = Object.entries(digestFolder(resolve(root, folder))).map(([file, digest]) => ({
      file,
      digest,
      isGranted: granted[file] === digest,
    }));
    return { modules };
  } catch (thrown) {
    return { modules: [], unreadable: { folder, reason: reasonOf(thrown) } };
  }
};

const planFor = async (request: Request, disk?: LoadRequest["disk"]): Promise<TrustPlan> => {
  const loaded = await loadFor(request, false, disk);
  const { file, waiting, workspaceFile } = loaded;
  if (workspaceFile === undefined) {
    return {
      workspace: request.root,
      file: undefined,
      values: [],
      modules: [],
      policies: [],
      isGranted: true,
    };
  }
  const values = workspaceFile.widening.map((one) => ({
    ...one,
    isGranted: !waiting.some(({ key }) => key === one.key),
  }));
  const { modules, unreadable } = modulesOf(request.root, workspaceFile);
  const { ofWorkspace: policies } = readPolicyTexts(loaded, request);
  const isGranted = [...values, ...modules, ...policies].every((one) => one.isGranted);
  const plan = { workspace: request.root, file, values, modules, policies, isGranted };
  return unreadable === undefined ? plan : { ...plan, unreadable };
};

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

const recordOf = ({ workspace, values, modules, policies }: TrustPlan): TrustRecord => ({
  version: 1,
  workspace,
  values: Object.fromEntries(values.map(({ key, grant }) => [key, grant])),
  digests: { ...digestsOf(MODULES_KEY, modules), ...digestsOf(POLICIES_KEY, policies) },
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

/** Records of trust are stored in the user's state folder, where no workspace reaches. */
export const createTrust = (request: Request): Trust => {
  const files = createTrustFiles();
  const folder = trustFolder(request.folders.state);
  const path = trustFile(request.folders.state, request.root);
  return {
    plan: () => planFor(request),
    // Records what was shown, even if the files have changed since.
    grant: (plan) => writeRecord(request, recordOf(plan)),
    revoke: () => files.removeRecord(path),
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
 * Trusts what this program has just written for the operator: the text itself, whatever lies at the path by now. A command
 * that is still running could have replaced the file in between.
 */
export const trustWritten = async (request: Request, file: string, text: string): Promise<void> => {
  const disk = createDisk();
  const real = disk.realOrFuture(file);
  const plan = await planFor(request, {
    realOrFuture: disk.realOrFuture,
    readText: async (path) => (disk.realOrFuture(path) === real ? text : disk.readText(path)),
  });
  if (plan.file !== undefined) await createTrust(request).grant(plan);
};

/** Trusts entries of lists that this program has just added to the workspace's file, and nothing else in it. */
export const trustAdded = async (
  request: Request,
  added: ReadonlyMap<string, readonly string[]>,
): Promise<void> => {
  const plan = await planFor(request);
  if (plan.file === undefined) return;
  const { record } = await readTrust(createTrustFiles(), request.folders.state, request.root);
  await writeRecord(request, recordWith(plan, record, added));
};
