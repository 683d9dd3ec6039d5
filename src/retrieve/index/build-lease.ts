import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { createLocks } from "../../host/state/locks/locks.ts";
import { createStateDb } from "../../host/state/state-db.ts";

/** Only one process at a time indexes a workspace; others would repeat the same work. */
export interface BuildLease {
  /** `onWait` is called repeatedly while another process holds the lease. */
  hold<T>(work: () => Promise<T>, onWait: () => void, signal: AbortSignal | undefined): Promise<T>;
  close(): void;
}

// A process that died is noticed at once; this limit is for one that hangs.
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
