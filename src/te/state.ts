import type { Files } from "../host/read/files.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import { createStateDb } from "../host/state/state-db.ts";
import { createUsage, type Usage } from "../host/state/usage/usage.ts";
import type { TeConfig } from "./config.ts";
import type { TeParts } from "./parts.ts";
import { printMessage } from "./print-message.ts";

export interface TeState {
  readonly usage: Usage;
  readonly handles: Pick<Handles, "put">;
  close(): void;
}

const MIB = 1024 * 1024;

/** What te keeps in a workspace. Nothing is opened or created before it is needed. */
export const openTeState = (
  workspace: string,
  { te, handles: limits }: TeConfig,
  { userState, streams }: Pick<TeParts, "userState" | "streams">,
): TeState => {
  const state = createStateDb({
    workspace,
    userState,
    onWarning: (message) => printMessage(streams, `te: ${message}`),
  });
  const now = () => Date.now();
  const put: Handles["put"] = async (...args) => {
    const { createHandles, newHandleId } = await import("../host/state/handles/handles.ts");
    const handles = createHandles({
      state,
      // te stores output and never reads files back: it needs no file port.
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
    return handles.put(...args);
  };
  return {
    usage: createUsage({ state, retentionDays: () => te.retention_days, now }),
    handles: { put },
    close: state.close,
  };
};
