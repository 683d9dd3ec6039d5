import { randomUUID } from "node:crypto";
import type { ErrorCode } from "../base/error-table.ts";
import type { Session } from "../envelope/contract.ts";
import { createAuditTrail, type LocalAuditTrail } from "../host/audit/audit-trail.ts";
import { auditSettings } from "../host/audit/settings.ts";
import { shortDigest } from "../host/os/lazy-builtins.ts";
import type { TeConfig } from "./config.ts";
import type { TeParts } from "./parts.ts";
import { printMessage } from "./print-message.ts";

type Entry = Parameters<LocalAuditTrail["record"]>[0];

/** Whoever types the command may do anything: no policy is asked. */
const OWN_TERMINAL = { allowed: true, policies: ["builtin:own-terminal"] } as const;

/** The record of one command of `te`: begun when it is opened. */
export interface TeAudit {
  end(outcome: { readonly exitCode: number } | { readonly failure: ErrorCode }): Promise<void>;
}

/**
 * Records the user's own commands. Where that is not possible they run nevertheless, and stderr says so: they would only be
 * typed again without `te`.
 */
export const openTeAudit = (
  workspace: string,
  config: TeConfig,
  { userState, version, streams }: Pick<TeParts, "userState" | "version" | "streams">,
  command: { readonly argv: readonly string[]; readonly session: Session },
): TeAudit => {
  const { argv, session } = command;
  const startedAt = performance.now();
  const trail = createAuditTrail({
    workspace,
    userState,
    settings: () => auditSettings(config.audit),
    log: { error: () => {}, warn: () => {} },
    server: `te ${version}`,
    pid: process.pid,
    today: () => new Date(),
  });
  let hasWarned = false;
  const record = (entry: Entry): void => {
    try {
      trail.record(entry);
    } catch {
      if (!hasWarned)
        printMessage(streams, "te: this command is not recorded: the audit trail cannot be written");
      hasWarned = true;
    }
  };
  const line = JSON.stringify(argv);
  const common = {
    correlation_id: randomUUID(),
    principal: session.principal,
    transport: "cli",
    agent_id: session.agentId,
    session_id: session.sessionId,
    model: session.model,
    tool: "te",
    effect: "execute",
    decision: OWN_TERMINAL,
    args_digest: shortDigest(line),
  };
  record({ kind: "decision", ...common });
  return {
    end: async (outcome) => {
      record({
        kind: "call",
        ...common,
        route: "te",
        bytes_in: Buffer.byteLength(line),
        // It went to the terminal as it came.
        bytes_out: null,
        duration_ms: Math.round((performance.now() - startedAt) * 1000) / 1000,
        outcome: "failure" in outcome ? outcome.failure : "ok",
        ...("exitCode" in outcome ? { exit_code: outcome.exitCode } : {}),
      });
      await trail.close();
    },
  };
};
