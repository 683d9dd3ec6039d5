import { LlmcError } from "../../base/error.ts";
import { identify, sendSignal } from "../run/tree/process-scan.ts";
import type { ProcessTree } from "../run/tree/process-tree.ts";

const INIT = 1;

const notFound = (pid: number): LlmcError =>
  new LlmcError("resource_not_found", `There is no process ${pid} that may be signalled.`, {
    hint: "Only your own processes may be, unless mcp.tools.kill_foreign_processes says otherwise.",
  });

interface KillScope {
  /** Process trees of the caller. */
  readonly own: readonly ProcessTree[];
  /** Of other callers, and of calls that wait for a command, which end it themselves: never to be signalled. */
  readonly others: readonly ProcessTree[];
  /** The operator allows processes that nobody started here. */
  readonly killForeign: boolean;
}

const findIn = (trees: readonly ProcessTree[], pid: number) =>
  trees.flatMap((tree) => tree.find()).find((key) => key.pid === pid);

/** One process by its number: of the caller's own trees, or one of the machine's where the operator allows that. */
export const killPid = (
  pid: number,
  signal: NodeJS.Signals,
  { own, others, killForeign }: KillScope,
): void => {
  const ours = findIn(own, pid);
  if (ours !== undefined) {
    sendSignal(ours, signal);
    return;
  }
  if (!killForeign || findIn(others, pid) !== undefined) throw notFound(pid);
  // Ending one of these would end the server and every session.
  if (pid === INIT || pid === process.pid || pid === process.ppid)
    throw new LlmcError("forbidden", "That is the server itself, or what it runs in.");
  if (identify(pid) === undefined) throw notFound(pid);
  try {
    process.kill(pid, signal);
  } catch (cause) {
    throw new LlmcError("permission_denied", `The system does not let us signal process ${pid}.`, { cause });
  }
};
