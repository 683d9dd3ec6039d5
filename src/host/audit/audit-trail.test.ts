import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type AuditStand, auditStand } from "../../../test/audit.ts";
import { auditEntry } from "../../../test/audit-entry.ts";
import { MAX_RECORD_BYTES } from "../../observe/audit/bounded.ts";

const kinds = (stand: AuditStand): readonly unknown[] =>
  stand
    .files()
    .flatMap((name) => readFileSync(join(stand.records, name), "utf8").trimEnd().split("\n"))
    .map((line) => {
      const { kind, correlation_id: id } = JSON.parse(line) as Readonly<Record<string, unknown>>;
      return kind === "call" ? id : kind;
    });

const read = (number: number) => () => auditEntry(number, { effect: "read" });

describe("REQ-O5 the record of a read", () => {
  it("is written shortly after its answer, and before any change that comes later", async () => {
    const stand = auditStand();
    const trail = stand.open();
    for (const number of [1, 2, 3]) trail.recordRead(read(number));
    // The first opens the chain: whether records can be written at all is known before anything is answered.
    expect(kinds(stand)).toEqual(["open", "call-1"]);
    trail.record(auditEntry(4, { effect: "write" }));
    expect(kinds(stand)).toEqual(["open", "call-1", "call-2", "call-3", "call-4"]);
    trail.recordRead(read(5));
    await sleep(100);
    expect(kinds(stand).at(-1)).toBe("call-5");
    trail.recordRead(read(6));
    await trail.close();
    expect(kinds(stand).slice(-2)).toEqual(["call-6", "close"]);
    expect((await stand.verify()).ok).toBe(true);
  });

  it("waits for at most 63 others, and for nobody where the operator says so", () => {
    const stand = auditStand();
    const trail = stand.open();
    for (let i = 0; i <= 64; i++) trail.recordRead(read(i));
    expect(kinds(stand)).toHaveLength(66);
    const strict = auditStand();
    const synced = strict.open({ sync: true });
    for (let i = 1; i <= 3; i++) synced.recordRead(read(i));
    expect(kinds(strict)).toEqual(["open", "call-1", "call-2", "call-3"]);
  });

  it("FAIL-D7 that fails makes the next one fail before its answer", async () => {
    const stand = auditStand();
    let now = Date.now();
    const trail = stand.open({ today: () => new Date(now) });
    trail.recordRead(read(1));
    trail.recordRead(read(2));
    rmSync(stand.records, { recursive: true });
    writeFileSync(stand.records, "not a folder");
    now += 2000;
    await sleep(100);
    expect(() => trail.recordRead(read(3))).toThrow("cannot be written");
    rmSync(stand.records);
    trail.recordRead(read(4));
    expect(kinds(stand)).toEqual(["open", "gap", "call-4"]);
  });
});

describe("REQ-O5 records on the disk", () => {
  it("hold names of any kind on one line each", async () => {
    const stand = auditStand();
    const trail = stand.open();
    const names = ["a\nb", '"},{"', "\u0000\u2028", "\ud800", "x".repeat(5000)];
    for (const agent_id of names) trail.record(auditEntry(1, { agent_id }));
    await trail.close();
    expect(await stand.verify()).toMatchObject({ ok: true, records: names.length + 2 });
  });

  it("are cut where names are longer than readers hold, and say so", async () => {
    const stand = auditStand();
    const trail = stand.open();
    const long = "\u0001".repeat(900_000);
    const policies = Array.from({ length: 1000 }, () => long);
    const texts = Object.fromEntries(Object.keys(auditEntry(1)).map((key) => [key, long]));
    trail.record(auditEntry(1, { ...texts, kind: "call", decision: { allowed: false, policies } }));
    trail.record(auditEntry(2, { agent_id: "\u0001".repeat(9_500) }));
    trail.record(auditEntry(3, { decision: { allowed: false, policies: policies.slice(0, 2) } }));
    await trail.close();
    expect(await stand.verify()).toMatchObject({ ok: true, records: 5 });
    const [name = ""] = stand.files();
    const lines = readFileSync(join(stand.records, name), "utf8").trimEnd().split("\n");
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(MAX_RECORD_BYTES);
    expect(lines.map((line) => (JSON.parse(line) as { readonly cut?: true }).cut)).toEqual([
      undefined,
      true,
      undefined,
      true,
      undefined,
    ]);
  });

  it("are in files that only their owner can read", async () => {
    const stand = auditStand();
    await stand.chain(1);
    const [name = ""] = stand.files();
    expect(statSync(join(stand.records, name)).mode & 0o777).toBe(0o600);
    expect(statSync(stand.records).mode & 0o777).toBe(0o700);
    expect(statSync(stand.headFolder()).mode & 0o777).toBe(0o700);
  });
});
