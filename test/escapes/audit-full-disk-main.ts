import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAuditTrail } from "../../src/host/audit/audit-trail.ts";
import { verifyAudit } from "../../src/host/audit/verify.ts";
import { AUDIT_SETTINGS, auditEntry } from "../audit-entry.ts";

/** Run as a program on a small disk of its own: records calls until it is full, then with room again, then read-only. */
const [workspace = "", userState = ""] = process.argv.slice(2);
const logged: string[] = [];
const log = (fields: unknown, message: string): void => {
  logged.push(`${message} ${JSON.stringify(fields)}`);
};
let unauditedReads = false;
const trail = createAuditTrail({
  workspace,
  userState,
  settings: () => ({ ...AUDIT_SETTINGS, unauditedReads }),
  log: { error: log, warn: log },
  server: "llmc test",
  pid: process.pid,
  today: () => new Date(),
});
const tryRecord = (effect: string): string => {
  try {
    trail.record(auditEntry(1, { effect }));
    return "recorded";
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const verify = async () => {
  const { ok, problems, records } = await verifyAudit({ workspace, userState });
  return { ok, problems, records };
};

const before = tryRecord("write");
writeFileSync(join(workspace, "ballast"), Buffer.alloc(300_000));
let fill = "recorded";
for (let i = 0; i < 10_000 && fill === "recorded"; i++) fill = tryRecord("write");
const full = {
  write: tryRecord("write"),
  execute: tryRecord("execute"),
  read: tryRecord("read"),
  ...(await verify()),
};
unauditedReads = true;
const lenient = { read: tryRecord("read"), write: tryRecord("write") };
rmSync(join(workspace, "ballast"));
const again = { write: tryRecord("write"), ...(await verify()) };
await trail.close();
execFileSync("mount", ["-o", "remount,bind,ro", workspace]);
const other = createAuditTrail({
  workspace,
  userState,
  settings: () => AUDIT_SETTINGS,
  log: { error: log, warn: log },
  server: "llmc test",
  pid: process.pid,
  today: () => new Date(),
});
let readOnly = "recorded";
try {
  other.record(auditEntry(1));
} catch (error) {
  readOnly = (error as { code: string }).code;
}
process.stdout.write(JSON.stringify({ before, full, lenient, again, readOnly, logged }));
