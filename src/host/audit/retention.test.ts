import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { auditStand } from "../../../test/audit.ts";
import { auditEntry } from "../../../test/audit-entry.ts";

const DAY_MS = 86_400_000;
const START = Date.parse("2026-01-01T00:00:00Z");

/** A clock that somebody else turns. */
const clockAt = (day: number) => {
  const clock = { ms: START + day * DAY_MS };
  return { clock, today: () => new Date(clock.ms) };
};

const textOf = (folder: string, files: readonly string[]): string =>
  files.map((name) => readFileSync(join(folder, name), "utf8")).join("");

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe("REQ-O5 many short processes", () => {
  it("make a few files, and no record of theirs is lost", async () => {
    const stand = auditStand();
    for (let i = 0; i < 150; i++) await stand.chain(2);
    expect(stand.files().length).toBeLessThan(40);
    const { ok, records } = await stand.verify();
    expect(ok).toBe(true);
    // Each has an open, two calls and a close; the archive adds a seal for each chain that it took in.
    const sealed = textOf(stand.records, stand.files()).match(/"kind":"sealed"/g)?.length ?? 0;
    expect(records).toBe(150 * 4 + sealed);
    expect(sealed).toBeGreaterThan(100);
  });

  it("do not take a chain into the archive that was changed", async () => {
    const stand = auditStand();
    await stand.chain(2);
    const [name = ""] = stand.files();
    const path = join(stand.records, name);
    writeFileSync(path, readFileSync(path, "utf8").replace('"outcome":"ok"', '"outcome":"no"'));
    for (let i = 0; i < 60; i++) await stand.chain(1);
    expect(stand.files()).toContain(name);
    expect((await stand.verify()).problems).toMatchObject([{ file: `.llmc/audit/${name}`, what: "changed" }]);
  });
});

describe("REQ-O5 rotation and retention", () => {
  it("begin a new file at the size, and the chain goes on over all of them", async () => {
    const stand = auditStand();
    await stand.chain(100, { maxFileBytes: 5000 });
    expect(stand.files().length).toBeGreaterThan(5);
    expect(await stand.verify()).toMatchObject({ ok: true, records: 102, chains: 1 });
  });

  it("remove what is too old, record that, and what is left verifies", async () => {
    const stand = auditStand();
    await stand.chain(30, { maxFileBytes: 5000, today: clockAt(0).today });
    await stand.chain(30, { maxFileBytes: 5000, today: clockAt(90).today });
    const before = stand.files();
    const { today, clock } = clockAt(100);
    const trail = stand.open({ retentionDays: 50, today });
    trail.record(auditEntry(1));
    clock.ms += 2 * DAY_MS;
    trail.record(auditEntry(2));
    await nextTurn();
    await trail.close();
    const gone = before.filter((name) => !stand.files().includes(name));
    expect(gone).toEqual(before.slice(0, gone.length));
    expect(gone.length).toBeGreaterThan(3);
    const text = textOf(stand.records, stand.files());
    for (const name of gone) expect(text.includes(`"kind":"retention","file":"${name}"`), name).toBe(true);
    expect(await stand.verify()).toMatchObject({ ok: true, chains: 2 });
  });

  it("remove the first files of the chain that is still written, and of the archive", async () => {
    const stand = auditStand();
    for (let i = 0; i < 40; i++) await stand.chain(2, { maxFileBytes: 3000, today: clockAt(0).today });
    const { today, clock } = clockAt(60);
    const trail = stand.open({ retentionDays: 30, maxFileBytes: 3000, today });
    const retained = (): readonly string[] =>
      [...textOf(stand.records, stand.files()).matchAll(/"kind":"retention","file":"([^"]+)"/g)].map(
        ([, file = ""]) => file,
      );
    for (let day = 0; day < 40; day++) {
      for (let i = 0; i < 5; i++) trail.record(auditEntry(i));
      clock.ms += DAY_MS;
      await nextTurn();
      expect((await stand.verify()).problems, `day ${day}`).toEqual([]);
      if (day === 5) expect(retained().some((name) => /^archive\.\w{8}\.0001/.test(name))).toBe(true);
      if (day === 39) expect(retained().filter((name) => name.startsWith("202603"))).not.toEqual([]);
    }
    const removed = stand.files().filter((name) => name.endsWith(".0001.jsonl"));
    expect(removed).toEqual([]);
    await trail.close();
    expect((await stand.verify()).ok).toBe(true);
  });

  it("keep to the size of all files together", async () => {
    const stand = auditStand();
    const trail = stand.open({ maxFileBytes: 4000, maxTotalBytes: 20_000 });
    for (let i = 1; i <= 300; i++) {
      trail.record(auditEntry(i));
      if (i % 10 === 0) await nextTurn();
    }
    await trail.close();
    expect(textOf(stand.records, stand.files()).length).toBeLessThan(26_000);
    expect((await stand.verify()).ok).toBe(true);
  });

  it("believe signed times alone: a file that looks old is kept", async () => {
    const stand = auditStand();
    await stand.chain(30, { maxFileBytes: 5000 });
    for (const name of stand.files()) utimesSync(join(stand.records, name), new Date(0), new Date(0));
    const before = stand.files();
    for (let i = 0; i < 40; i++) await stand.chain(1, { retentionDays: 1 });
    expect(stand.files()).toEqual(expect.arrayContaining(before));
  });
});
