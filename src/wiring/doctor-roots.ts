import { basename, join } from "node:path";
import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { RECORDS } from "../host/audit/store.ts";
import { isWritable } from "../host/os/probe.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { STATE_DIR } from "../policy/paths.ts";
import type { AppRequest } from "./app.ts";

type Request = Pick<AppRequest, "root" | "folders">;

/** Whether the innermost folder of these that exists can be written: those in it are made where they are missing. */
const canMake = async (...innermostFirst: readonly string[]): Promise<boolean> => {
  const disk = createDisk();
  for (const path of innermostFirst) if (await disk.exists(path)) return isWritable(path);
  return false;
};

/** Which of the two folders of the audit trail cannot be written; undefined if both can. */
const closedToRecords = async (root: string, userState: string): Promise<string | undefined> => {
  if (!(await canMake(join(root, RECORDS), join(root, STATE_DIR), root))) return RECORDS;
  return (await canMake(join(userState, basename(RECORDS)), userState)) ? undefined : userState;
};

/** What cannot be recorded is not done: without a place for the audit trail, every call is refused. */
const describeClosed = (folder: string, loaded: Loaded | undefined): Finding => {
  const name = "audit trail";
  const fix = `make ${folder} writable for this user`;
  if (loaded?.config.mcp.audit.unaudited_reads === true)
    return {
      name,
      state: "weak",
      detail: `${folder} cannot be written: calls that only read are not recorded (mcp.audit.unaudited_reads), all others are refused`,
      fix,
    };
  return {
    name,
    state: "bad",
    detail: `${folder} cannot be written: every call is refused (audit_unavailable)`,
    fix: `${fix}; or mcp.audit.unaudited_reads = true, with which calls that only read go on unrecorded`,
  };
};

/** Nothing where records can be written, or need not be. */
const examineRecords = async (
  { root, folders }: Request,
  loaded: Loaded | undefined,
): Promise<readonly Finding[]> => {
  if (loaded?.config.mcp.audit.enabled === false) return [];
  const closed = await closedToRecords(root, folders.state);
  return closed === undefined ? [] : [describeClosed(closed, loaded)];
};

const examineWorkspace = async (root: string): Promise<Finding> => {
  const name = "workspace";
  if (await isWritable(root)) return { name, state: "good", detail: `${root}, writable` };
  const fails = (await canMake(join(root, STATE_DIR), root)) ? "writes" : "state and writes";
  return {
    name,
    state: "weak",
    detail: `${root} cannot be written: ${fails} will fail`,
    fix: "use a folder of your own with --root",
  };
};

/** Whether the server can keep what it has to, and what its tools reach. */
export const examineRoots = async (
  request: Request,
  loaded: Loaded | undefined,
): Promise<readonly Finding[]> => {
  const found = [await examineWorkspace(request.root), ...(await examineRecords(request, loaded))];
  const roots = loaded?.config.mcp.tools.allowed_roots ?? ["."];
  if (roots.length > 0 && !roots.includes("/")) return found;
  const detail =
    roots.length === 0
      ? "mcp.tools.allowed_roots is empty: every file is refused"
      : "the whole file system is allowed";
  return [...found, { name: "roots", state: "weak", detail, fix: 'allowed_roots = ["."]' }];
};
