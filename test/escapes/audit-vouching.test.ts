import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { readAudit } from "../../src/host/audit/read-audit.ts";
import { type AuditStand, auditStand } from "../audit.ts";
import { auditEntry } from "../audit-entry.ts";

const DAY_MS = 86_400_000;

const FORGED = `${JSON.stringify({
  time: "2026-11-16T14:00:00.000Z",
  kind: "call",
  principal: "token:alice",
  tool: "linux_fs_remove",
  outcome: "ok",
})}\n`;

const flaws = async (stand: AuditStand): Promise<readonly string[]> =>
  (await stand.verify()).problems.map(({ file, what }) => `${what} ${file.slice(".llmc/audit/".length)}`);

/** How many records are shown, by whether they are vouched for, and how many lines are not signed. */
const shown = async (stand: AuditStand) => {
  const count = { vouched: 0, unverified: 0 };
  const unsigned = await readAudit(stand.paths, (row, _line, isVouched) => {
    expect(row["tool"]).not.toBe("linux_fs_remove");
    count[isVouched ? "vouched" : "unverified"]++;
  });
  return { ...count, unsigned };
};

const archiveOf = (stand: AuditStand): string => {
  const name = stand.files().findLast((file) => file.startsWith("archive."));
  if (name === undefined) throw new Error("there is no archive");
  return join(stand.records, name);
};

/** Chains of ended processes, most of them in the archive. */
const archivedStand = async (): Promise<AuditStand> => {
  const stand = auditStand();
  for (let i = 0; i < 34; i++) await stand.chain(2);
  return stand;
};

/** A chain whose first files retention has removed, and a copy of all its files. */
const shortenedStand = async () => {
  const stand = auditStand();
  const copy = join(stand.paths.workspace, "copy");
  let now = Date.parse("2026-01-01T00:00:00Z");
  const trail = stand.open({ maxFileBytes: 2000, retentionDays: 30, today: () => new Date(now) });
  const go = async (): Promise<void> => {
    trail.record(auditEntry(1));
    await sleep(30);
  };
  for (let day = 0; day < 40; day++) {
    await go();
    cpSync(stand.records, copy, { recursive: true });
    now += DAY_MS;
  }
  const removed = readdirSync(copy)
    .filter((name) => !stand.files().includes(name))
    .sort();
  expect(removed.length).toBeGreaterThan(1);
  const putBack = (name: string, text = readFileSync(join(copy, name), "utf8")): void =>
    writeFileSync(join(stand.records, name), text, { mode: 0o600 });
  const nextFile = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) await go();
  };
  return { stand, removed, putBack, nextFile };
};

it("REQ-O5 a file before the first of its chain is found, and its records are not shown", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const before = await shown(stand);
  expect(before).toEqual({ vouched: 5, unverified: 0, unsigned: 0 });
  const forged = stand.files()[0]?.replace(".0001.", ".0000.") ?? "";
  writeFileSync(join(stand.records, forged), FORGED);
  expect(await flaws(stand)).toEqual([`unknown_file ${forged}`]);
  expect(await shown(stand)).toEqual({ ...before, unsigned: 1 });
});

it("REQ-O5 a file that retention removed is found when it is put back, unless its removal was interrupted", async () => {
  const { stand, removed, putBack, nextFile } = await shortenedStand();
  const [older = "", last = ""] = removed.slice(-2);
  const before = await shown(stand);
  putBack(older);
  expect(await flaws(stand)).toEqual([`unknown_file ${older}`]);
  const { unverified, ...rest } = await shown(stand);
  expect({ ...rest, unverified: 0 }).toEqual(before);
  expect(unverified).toBeGreaterThan(0);
  // The last one is what a process leaves that is killed after it has noted the removal.
  putBack(last);
  expect(await flaws(stand)).toEqual([`unknown_file ${older}`]);
  for (const text of ["", FORGED, readFileSync(join(stand.records, last), "utf8") + FORGED]) {
    putBack(last, text);
    expect(await flaws(stand)).toEqual([`unknown_file ${older}`, `unknown_file ${last}`]);
  }
  putBack(last);
  await nextFile();
  expect(existsSync(join(stand.records, last))).toBe(false);
  expect(existsSync(join(stand.records, older))).toBe(true);
});

it("REQ-O5 FAIL-J11 what is appended to the archive is found, however much it is", async () => {
  const stand = await archivedStand();
  const archive = archiveOf(stand);
  const { size } = statSync(archive);
  const before = await shown(stand);
  appendFileSync(archive, FORGED);
  const found = [`foreign ${archive.slice(stand.records.length + 1)}`];
  expect(await flaws(stand)).toEqual(found);
  expect(await shown(stand)).toEqual({ ...before, unsigned: 1 });
  const started = process.memoryUsage().rss;
  // Sparse: it takes no space. More than one read can give.
  truncateSync(archive, 3 * 2 ** 30);
  expect(await flaws(stand)).toEqual(found);
  expect(await shown(stand)).toMatchObject({ vouched: before.vouched, unverified: 0 });
  expect(process.memoryUsage().rss - started).toBeLessThan(2 ** 28);
  truncateSync(archive, size);
  expect(await flaws(stand)).toEqual([]);
});

it("REQ-O5 text after the last record is found where an empty file follows", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const [name = ""] = stand.files();
  appendFileSync(join(stand.records, name), FORGED.trimEnd());
  writeFileSync(join(stand.records, name.replace(".0001.", ".0002.")), "");
  expect(await flaws(stand)).toContain(`changed ${name}`);
});

it("REQ-O5 bytes that are read as the same character are told apart", async () => {
  const stand = auditStand();
  const trail = stand.open();
  trail.record(auditEntry(1, { agent_id: "a\ufffdb" }));
  trail.record(auditEntry(2, { agent_id: "é" }));
  await trail.close();
  expect(await flaws(stand)).toEqual([]);
  const [name = ""] = stand.files();
  const path = join(stand.records, name);
  const bytes = readFileSync(path);
  // The beginning of a longer sequence: as many bytes as the replacement character, which it is shown as.
  Buffer.from([0xf0, 0x9f, 0x98]).copy(bytes, bytes.indexOf("\ufffd"));
  writeFileSync(path, bytes);
  expect((await stand.verify()).problems).toMatchObject([{ what: "changed", line: 2 }]);
});

it("REQ-O5 files with the key's tag under other names are found", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const [name = ""] = stand.files();
  const names = [name.replace(".0001.", ".00001."), `${name}.bak`, `X${name}`].sort();
  for (const other of names) copyFileSync(join(stand.records, name), join(stand.records, other));
  expect(await flaws(stand)).toEqual(expect.arrayContaining(names.map((other) => `unknown_file ${other}`)));
  expect(await shown(stand)).toEqual({ vouched: 5, unverified: 0, unsigned: 0 });
});

it("REQ-O5 a chain's own file that the archive has taken in is as it was, or found", async () => {
  const stand = auditStand();
  for (let i = 0; i < 32; i++) await stand.chain(2);
  const [records, heads] = ["records", "heads"].map((name) => join(stand.paths.workspace, name));
  cpSync(stand.records, records ?? "", { recursive: true });
  cpSync(stand.headFolder(), heads ?? "", { recursive: true });
  await stand.chain(2);
  const text = readFileSync(archiveOf(stand), "utf8");
  const sealed = [...text.matchAll(/"kind":"sealed".*?"of":"([^"]+)"/g)].at(-1)?.[1] ?? "";
  const file = readdirSync(records ?? "").find((name) => name.startsWith(sealed)) ?? "";
  // As a process leaves it that is killed after it has written the archive's head.
  copyFileSync(join(heads ?? "", `${sealed}.head`), join(stand.headFolder(), `${sealed}.head`));
  const before = await shown(stand);
  copyFileSync(join(records ?? "", file), join(stand.records, file));
  expect(await flaws(stand)).toEqual([]);
  expect(await shown(stand)).toEqual(before);
  writeFileSync(join(stand.records, file), FORGED);
  expect(await flaws(stand)).toEqual([`changed ${file}`]);
});

it("REQ-O5 records after the first problem of their chain are marked, and a changed one is not shown", async () => {
  const stand = auditStand();
  await stand.chain(8, { maxFileBytes: 2000 });
  const [name = ""] = stand.files();
  const path = join(stand.records, name);
  writeFileSync(path, readFileSync(path, "utf8").replace('"call-2"', '"call-9"'));
  expect(await flaws(stand)).toEqual([`changed ${name}`]);
  // The opening and the first call; the changed one; six calls and the end.
  expect(await shown(stand)).toEqual({ vouched: 2, unverified: 7, unsigned: 1 });
});

it("REQ-O5 retention by size counts what was written, not what somebody added", async () => {
  const stand = auditStand();
  const settings = { maxFileBytes: 4000, maxTotalBytes: 2 ** 20 };
  await stand.chain(30, settings);
  const before = stand.files();
  const [name = ""] = before;
  for (const added of [name.replace(".0001.", ".0000."), `archive${name.slice(name.indexOf("."))}`])
    appendFileSync(join(stand.records, added), Buffer.alloc(2 ** 20));
  truncateSync(join(stand.records, before[1] ?? ""), 2 ** 30);
  for (let i = 0; i < 34; i++) await stand.chain(1, settings);
  expect(stand.files()).toEqual(expect.arrayContaining(before));
});
