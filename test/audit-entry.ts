import type { AuditSettings } from "../src/host/audit/settings.ts";
import type { AuditEntry } from "../src/observe/audit/entry.ts";

export const AUDIT_SETTINGS: AuditSettings = {
  enabled: true,
  maxFileBytes: 16 * 1024 * 1024,
  maxTotalBytes: 0,
  retentionDays: 0,
  unauditedReads: false,
  sync: false,
};

export const auditEntry = (number: number, over: Readonly<Record<string, unknown>> = {}): AuditEntry =>
  ({
    kind: "call",
    correlation_id: `call-${number}`,
    principal: "local",
    transport: "stdio",
    agent_id: "tester",
    session_id: "session",
    model: "none",
    route: "stdio",
    tool: number % 3 === 0 ? "linux_fs_write" : "read_file",
    effect: number % 3 === 0 ? "write" : "read",
    decision: { allowed: true, policies: ["llmc.workspace"] },
    path: `src/größe-${number}.ts`,
    bytes_in: number,
    bytes_out: number * 2,
    duration_ms: 0.5,
    outcome: "ok",
    ...over,
  }) as AuditEntry;
