import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { createLocks } from "../../host/state/locks/locks.ts";
import { createStateDb } from "../../host/state/state-db.ts";

/** One process at a time does a work on the index of a workspace; the others would only do the same again. */
export interface BuildLease {
  /** `onWait` is told now and then while another process has it. */
  hold<T>(work: () => Promise<T>, onWait: () => void, signal: AbortSignal | undefined): Promise<T>;
  close(): void;
}

// A process that died is noticed at once; the time counts for one that hangs.
const LEASE_MS = 30_000;
const POLL_MS = 150;

export const createBuildLease = (
  { workspace, userState }: { readonly workspace: string; readonly userState: string },
  onWarning: (message: string) => void,
  name: "index.db" | "index.db.vectors" = "index.db",
): BuildLease => {
  const state = createStateDb({ workspace, userState, onWarning });
  const locks = createLocks({
    state,
    workspace,
    settings: () => ({ waitMs: 0, leaseMs: LEASE_MS }),
    now: () => Date.now(),
    pid: process.pid,
  });
  return {
    hold: async (work, onWait, signal) => {
      for (;;) {
        let hasBegun = false;
        const begin = () => {
          hasBegun = true;
          return work();
        };
        try {
          return await locks.hold([`${workspace}/.llmc/${name}`], begin, signal);
        } catch (error) {
          const isTaken = error instanceof LlmcError && error.code === "busy" && !hasBegun;
          if (!isTaken) throw error;
        }
        onWait();
        await sleep(POLL_MS);
        stopIfAborted(signal);
      }
    },
    close: () => state.close(),
  };
};
