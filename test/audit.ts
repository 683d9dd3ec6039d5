import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createAuditTrail, type LocalAuditTrail } from "../src/host/audit/audit-trail.ts";
import type { AuditSettings } from "../src/host/audit/settings.ts";
import { verifyAudit } from "../src/host/audit/verify.ts";
import { AUDIT_SETTINGS, auditEntry } from "./audit-entry.ts";

interface TrailOptions extends Partial<AuditSettings> {
  readonly today?: () => Date;
}

/** A workspace with a state folder of its own, and trails as processes would write them. */
export const auditStand = (atEnd: (work: () => void) => void = onTestFinished) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-audit-")));
  atEnd(() => rmSync(base, { recursive: true, force: true }));
  const workspace = base;
  const paths = { workspace, userState: join(base, "state") };
  const logged: string[] = [];
  const log = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const records = join(workspace, ".llmc/audit");
  const headFolder = (): string =>
    join(paths.userState, "audit", readdirSync(join(paths.userState, "audit"))[0] ?? "");
  const open = ({ today = () => new Date(), ...settings }: TrailOptions = {}): LocalAuditTrail =>
    createAuditTrail({
      ...paths,
      settings: () => ({ ...AUDIT_SETTINGS, ...settings }),
      log: { error: log, warn: log },
      server: "llmc test",
      pid: process.pid,
      today,
    });
  return {
    paths,
    records,
    logged,
    headFolder,
    files: (): string[] => readdirSync(records).sort(),
    open,
    verify: () => verifyAudit(paths),
    /** A process that records `count` calls and ends. */
    chain: async (count: number, options?: TrailOptions): Promise<void> => {
      const trail = open(options);
      for (let i = 1; i <= count; i++) trail.record(auditEntry(i));
      await trail.close();
    },
  };
};

export type AuditStand = ReturnType<typeof auditStand>;
