import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { createLockDb } from "../../host/state/lock-db.ts";
import { createLocks } from "../../host/state/locks/locks.ts";

// A process that died is noticed at once; this limit is for one that hangs.
const LEASE_MS = 30_000;
const POLL_MS = 150;

/** Only one process at a time indexes a workspace; others would repeat the same work. */
export const createBuildLease = (
  { workspace, userState }: { readonly workspace: string; readonly userState: string },
  onWarning: (message: string) => void,
  name: "index.db" | "index.db.vectors" = "index.db",
) => {
  const database = createLockDb({ workspace, userState, onWarning });
  const locks = createLocks({
    database,
    workspace,
    settings: () => ({ waitMs: 0, leaseMs: LEASE_MS }),
    now: () => Date.now(),
    pid: process.pid,
  });
  return {
    /** `onWait` is called repeatedly while another process holds the lease. */
    hold: async <T>(
      work: () => Promise<T>,
      onWait: () => void,
      signal: AbortSignal | undefined,
    ): Promise<T> => {
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
    close: (): void => database.close(),
  };
};

export type BuildLease = ReturnType<typeof createBuildLease>;
