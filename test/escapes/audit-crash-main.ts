import { createAuditTrail } from "../../src/host/audit/audit-trail.ts";
import { AUDIT_SETTINGS, auditEntry } from "../audit-entry.ts";

/** Run as a program until it is killed: records calls, in one chain (`long`) or in many short ones that are merged (`short`). */
const [workspace = "", userState = "", kind = ""] = process.argv.slice(2);

const print = (fields: unknown, message: string): void =>
  void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);

const open = () =>
  createAuditTrail({
    workspace,
    userState,
    settings: () => ({ ...AUDIT_SETTINGS, maxFileBytes: 20_000 }),
    log: { error: print, warn: print },
    server: "llmc test",
    pid: process.pid,
    today: () => new Date(),
  });

process.stdout.write("started\n");
for (;;) {
  const trail = open();
  for (let i = 1; kind === "long" || i <= 3; i++) {
    trail.record(auditEntry(i));
    // Rotations and merges wait for a turn.
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await trail.close();
}
