import { LlmcError } from "../base/error.ts";
import type { LocalAuditTrail } from "../host/audit/audit-trail.ts";
import type { AuditSettings } from "../host/audit/settings.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import { VERSION } from "./version.ts";

interface AuditParts {
  readonly root: string;
  readonly userState: string;
  readonly settings: () => AuditSettings;
  readonly log: Parameters<typeof import("../host/audit/audit-trail.ts").createAuditTrail>[0]["log"];
}

export interface ClosableAuditTrail extends AuditTrail {
  close(): Promise<void>;
}

/**
 * The audit trail, loaded soon after the start or with the first call: it needs parts of Node that a start does without. Then
 * the log also says why no call will be recorded, where the workspace has brought something in the place of the trail.
 */
export const createAudit = ({ root, userState, settings, log }: AuditParts): ClosableAuditTrail => {
  let trail: LocalAuditTrail | undefined;
  let loading: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    const { createAuditTrail } = await import("../host/audit/audit-trail.ts");
    const { refusedRecords } = await import("../host/audit/store.ts");
    const refused = refusedRecords({ workspace: root, userState });
    if (refused !== undefined)
      log.error(
        { reason: refused.message, fix: refused.hint ?? "" },
        "calls will be refused: they cannot be recorded",
      );
    trail = createAuditTrail({
      workspace: root,
      userState,
      settings,
      log,
      server: `llmc ${VERSION}`,
      pid: process.pid,
      today: () => new Date(),
    });
  };
  const loaded = (): LocalAuditTrail | undefined => {
    if (trail === undefined && settings().enabled)
      throw new LlmcError("audit_unavailable", "The audit trail was switched on during this call.", {
        hint: "Call again.",
        retryable: true,
      });
    return trail;
  };
  return {
    ready: () => {
      if (trail !== undefined || !settings().enabled) return undefined;
      loading ??= load();
      return loading;
    },
    record: (entry) => loaded()?.record(entry),
    recordRead: (make) => loaded()?.recordRead(make),
    missed: () => trail?.missed() ?? 0,
    check: () => trail?.check(),
    close: async () => {
      await loading;
      await trail?.close();
    },
  };
};
