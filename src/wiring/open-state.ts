import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { createLockDb } from "../host/state/lock-db.ts";
import { createLocks } from "../host/state/locks/locks.ts";
import { createStateDb } from "../host/state/state-db.ts";
import { createUsage } from "../host/state/usage/usage.ts";
import type { Log } from "../observe/log.ts";

interface StateParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly folders: UserFolders;
  readonly log: Log;
}

/** Opens what the server keeps between calls: handles and usage of the workspace, locks of the user. */
export const openState = ({ root, config, folders, log }: StateParts) => {
  const options = {
    workspace: root,
    userState: folders.state,
    onWarning: (reason: string) => log.warn({ reason }, "state database"),
  };
  const state = createStateDb(options);
  const now = () => Date.now();
  const locks = createLocks({
    database: createLockDb(options),
    workspace: root,
    settings: () => ({
      waitMs: config().mcp.locks.wait_seconds * 1000,
      leaseMs: config().mcp.locks.lease_seconds * 1000,
    }),
    now,
    pid: process.pid,
  });
  const usage = createUsage({ state, retentionDays: () => config().mcp.te.retention_days, now });
  return { state, locks, usage, now };
};
