import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { auditStand } from "../audit.ts";
import { auditEntry } from "../audit-entry.ts";
import { rounds } from "../rounds.ts";
import { runOnMount } from "./mount-namespace.ts";

const MAIN = join(import.meta.dirname, "audit-crash-main.ts");

const killSomewhere = async (args: readonly string[], round: number): Promise<void> => {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  await sleep(Math.random() * (60 + 10 * round));
  child.kill("SIGKILL");
  await ended;
};

it.each(["long", "short"])(
  "REQ-O5 FAIL-D7 FAIL-J11 the chains of killed processes verify, whenever they are killed (%s chains)",
  { timeout: 600_000 },
  async (kind) => {
    const stand = auditStand();
    for (let round = 0; round < rounds(12, 200); round++) {
      await killSomewhere([stand.paths.workspace, stand.paths.userState, kind], round);
      expect((await stand.verify()).problems, `round ${round}`).toEqual([]);
    }
    // Whoever comes next goes on, and what was left behind is merged.
    for (let i = 0; i < 40; i++) await stand.chain(1);
    const { ok, records } = await stand.verify();
    expect(ok).toBe(true);
    expect(records).toBeGreaterThan(40);
    expect(stand.files().some((name) => name.startsWith("archive."))).toBe(true);
  },
);

it("REQ-O5 FAIL-D7 a full or read-only disk stops what must be recorded, says so, and breaks no chain", () => {
  const stand = auditStand();
  const disk = join(stand.paths.workspace, "disk");
  mkdirSync(disk);
  const main = join(import.meta.dirname, "audit-full-disk-main.ts");
  const command = [process.execPath, main, disk, stand.paths.userState];
  const result: unknown = JSON.parse(
    runOnMount('mount -t tmpfs -o size=400k,mode=700 tmpfs "$0"', disk, command),
  );
  expect(result).toMatchObject({
    before: "recorded",
    full: {
      write: "audit_unavailable",
      execute: "audit_unavailable",
      read: "audit_unavailable",
      ok: true,
      problems: [],
    },
    lenient: { read: "recorded", write: "audit_unavailable" },
    again: { write: "recorded", ok: true, problems: [] },
    readOnly: "audit_unavailable",
  });
  const { logged } = result as { readonly logged: readonly string[] };
  expect(logged.join("\n")).toMatch(/cannot be written; calls that must be recorded are refused.*ENOSPC/);
  expect(logged).toContain("the audit trail is written again {}");
});

it("REQ-O5 FAIL-J11 a folder that is removed under a running server is noticed, and a new chain begins", async () => {
  const stand = auditStand();
  let now = Date.now();
  const trail = stand.open({ today: () => new Date(now) });
  trail.record(auditEntry(1));
  rmSync(stand.records, { recursive: true });
  now += 2000;
  trail.record(auditEntry(2));
  await trail.close();
  expect(stand.files()).toHaveLength(1);
  expect(stand.logged.join("\n")).toContain("was removed while it was in use");
  expect((await stand.verify()).problems).toMatchObject([{ what: "missing_file" }]);
});
