import { homedir } from "node:os";
import { userFolders } from "../config/user-folders.ts";
import type { Files } from "../host/read/files.ts";
import { createStateDb } from "../host/state/database/state-db.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import { createUsage, type Usage } from "../host/state/usage/usage.ts";
import { lazyPort } from "../wiring/lazy-port.ts";
import type { TeConfig } from "./config.ts";

export interface TeState {
  readonly usage: Usage;
  readonly handles: Pick<Handles, "put">;
  close(): void;
}

const MIB = 1024 * 1024;

/** What te keeps in a workspace; nothing is opened or made before it is needed. */
export const openTeState = (workspace: string, { te, handles: limits }: TeConfig): TeState => {
  const state = createStateDb({
    workspace,
    userState: userFolders(process.env, homedir()).state,
    onWarning: (message) => void process.stderr.write(`te: ${message}\n`),
  });
  const now = () => Date.now();
  const loadHandles = async (): Promise<Handles> => {
    const { createHandles, newHandleId } = await import("../host/state/handles/handles.ts");
    return createHandles({
      state,
      // An output is no file: te only puts, and never reads what others have put.
      files: {} as Files,
      workspace,
      limits: () => ({
        ttlSeconds: limits.ttl_seconds,
        maxTotalBytes: limits.max_total_mb * MIB,
        maxBytesEach: limits.max_each_mb * MIB,
      }),
      now,
      newId: newHandleId,
      pid: process.pid,
    });
  };
  return {
    usage: createUsage({ state, retentionDays: () => te.retention_days, now }),
    handles: lazyPort(loadHandles),
    close: state.close,
  };
};
