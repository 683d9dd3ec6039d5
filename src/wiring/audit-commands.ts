import type { CommonOptions } from "../cli/actions.ts";
import { type AuditPort, runAuditExport, runAuditShow, runAuditVerify } from "../cli/audit-command.ts";
import type { ActionsOf, Invocation } from "./invocation.ts";
import { requestOf } from "./request.ts";

/** As `grep` and `diff`: the command did its work, and the answer is no. */
const NOT_AS_WRITTEN = 1;

/** Reads the records as they lie: neither the configuration nor a server is needed for it. */
const auditOf = async (run: Invocation, options: CommonOptions): Promise<AuditPort> => {
  const { root, folders } = await requestOf(run, options);
  const paths = { workspace: root, userState: folders.state };
  return {
    verify: async () => (await import("../host/audit/verify.ts")).verifyAudit(paths),
    read: async (visit) => (await import("../host/audit/read-audit.ts")).readAudit(paths, visit),
  };
};

export const auditActions: ActionsOf<"verifyAudit" | "showAudit" | "exportAudit"> = (run) => ({
  verifyAudit: async (options) => {
    const ok = await runAuditVerify(await auditOf(run, options), run.io, { json: options.json ?? false });
    if (!ok) run.setExitCode(NOT_AS_WRITTEN);
  },
  showAudit: async (options) =>
    runAuditShow(await auditOf(run, options), run.io, {
      ...options,
      json: options.json ?? false,
      nowMs: Date.now(),
    }),
  exportAudit: async (options) =>
    runAuditExport(await auditOf(run, options), run.io, {
      ...options,
      format: options.format ?? "jsonl",
      nowMs: Date.now(),
    }),
});
