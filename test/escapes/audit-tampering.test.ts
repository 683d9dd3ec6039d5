import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { refusedRecords } from "../../src/host/audit/store.ts";
import { type AuditStand, auditStand } from "../audit.ts";
import { auditEntry } from "../audit-entry.ts";
import { isFull, rounds } from "../rounds.ts";

/** Every kind of chain: in the archive, closed, in several files, and of a process that was killed. */
const variedStand = async (): Promise<AuditStand> => {
  const stand = auditStand();
  await stand.chain(12, { maxFileBytes: 2000 });
  for (let i = 0; i < 34; i++) await stand.chain(2);
  await stand.chain(12);
  const killed = stand.open();
  for (let i = 1; i <= 5; i++) killed.record(auditEntry(i));
  expect(stand.files().some((name) => name.startsWith("archive."))).toBe(true);
  expect(await stand.verify()).toMatchObject({ ok: true, problems: [] });
  return stand;
};

/** Always the same sequence, so that a failure can be repeated. */
const random = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
};

const pick = <T>(items: readonly T[], next: (below: number) => number): T => {
  const item = items[next(items.length)];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
};

const lineAt = (bytes: Buffer, offset: number): number =>
  bytes.subarray(0, offset).filter((byte) => byte === 10).length + 1;

/** One change, and the line where it must be found. */
const tamper = (bytes: Buffer, next: (below: number) => number): { changed: Buffer; line: number } => {
  const offset = next(bytes.length);
  const line = lineAt(bytes, offset);
  const [before, after] = [bytes.subarray(0, offset), bytes.subarray(offset + 1)];
  const kind = next(3);
  if (kind === 0) return { changed: Buffer.concat([before, after]), line };
  const other = Buffer.from([((bytes[offset] ?? 0) + 1 + next(255)) % 256]);
  if (kind === 1) return { changed: Buffer.concat([before, other, after]), line };
  return { changed: Buffer.concat([before, other, bytes.subarray(offset)]), line };
};

const chainOf = (file: string): string => file.slice(0, file.indexOf("."));

/** Files of as many chains, since of each chain the first problem is named. */
const pickChains = (
  files: readonly string[],
  count: number,
  next: (below: number) => number,
): readonly string[] => {
  const picked = new Map<string, string>();
  for (let tries = 0; tries < 4 * count && picked.size < count; tries++) {
    const file = pick(files, next);
    picked.set(chainOf(file), file);
  }
  return [...picked.values()];
};

/** Places that are changed at once. */
const CHAINS = 5;

it("REQ-O5 FAIL-J11 a byte that is changed, removed or added at 1,000 random places is found, and located", async () => {
  const stand = await variedStand();
  const next = random(20_261_116);
  const total = rounds(isFull ? 1000 : 100, 10_000);
  for (let done = 0; done < total; ) {
    const positions = pickChains(stand.files(), CHAINS, next).map((name) => {
      const path = join(stand.records, name);
      const original = readFileSync(path);
      const { changed, line } = tamper(original, next);
      writeFileSync(path, changed);
      return { name, path, original, line };
    });
    const { ok, problems } = await stand.verify();
    expect(ok).toBe(false);
    expect(problems, `after ${done}`).toHaveLength(positions.length);
    for (const { name, line } of positions) {
      const found = problems.find(({ file }) => file === `.llmc/audit/${name}`);
      // A byte that is added between two records is a part of the one before or after it.
      expect([line - 1, line], `after ${done}, ${name}:${line}`).toContain(found?.line);
    }
    for (const { path, original } of positions) writeFileSync(path, original);
    done += positions.length;
  }
  expect((await stand.verify()).ok).toBe(true);
});

it("REQ-O5 a tail that is cut off at any byte is found, in every kind of chain", async () => {
  const stand = await variedStand();
  for (const name of stand.files()) {
    const path = join(stand.records, name);
    const original = readFileSync(path);
    // More than the last record. Every byte in the long form; in the short one every twenty-third, the last one included.
    const from = Math.max(0, original.length - 700);
    for (let length = original.length - 1; length >= from; length -= rounds(isFull ? 23 : 101, 1)) {
      truncateSync(path, length);
      const { ok, problems } = await stand.verify();
      expect(ok, `${name} cut at ${length} of ${original.length}`).toBe(false);
      expect(problems[0]?.file.startsWith(`.llmc/audit/${name.slice(0, 10)}`)).toBe(true);
      writeFileSync(path, original);
    }
  }
});

const swapLines = (path: string, one: number, other: number): void => {
  const lines = readFileSync(path, "utf8").split("\n");
  [lines[one], lines[other]] = [lines[other] ?? "", lines[one] ?? ""];
  writeFileSync(path, lines.join("\n"));
};

it("REQ-O5 records that are swapped, removed or repeated are told apart", async () => {
  const stand = auditStand();
  await stand.chain(10);
  const [name = ""] = stand.files();
  const path = join(stand.records, name);
  const original = readFileSync(path, "utf8");
  const lines = original.split("\n");
  const first = async () => (await stand.verify()).problems[0];

  swapLines(path, 3, 6);
  expect(await first()).toMatchObject({ file: `.llmc/audit/${name}`, line: 4, what: "reordered" });
  writeFileSync(path, lines.toSpliced(4, 1).join("\n"));
  expect(await first()).toMatchObject({ line: 5, what: "removed" });
  writeFileSync(path, lines.toSpliced(4, 0, lines[4] ?? "").join("\n"));
  expect(await first()).toMatchObject({ line: 6, what: "reordered" });
  writeFileSync(path, lines.slice(0, -2).join("\n").concat("\n"));
  expect(await first()).toMatchObject({ line: lines.length - 1, what: "cut" });
  writeFileSync(path, original);
  expect(await first()).toBeUndefined();
});

it("REQ-O5 files that are swapped, removed, renamed, added or put back are found", async () => {
  const stand = await variedStand();
  const copy = join(stand.paths.workspace, "copy");
  cpSync(stand.records, copy, { recursive: true });
  const restore = (): void => {
    rmSync(stand.records, { recursive: true, force: true });
    cpSync(copy, stand.records, { recursive: true });
  };
  const flaws = async () =>
    (await stand.verify()).problems.map(({ file, what }) => `${what} ${file.slice(12)}`);
  const files = stand.files();
  for (const name of files) {
    rmSync(join(stand.records, name));
    expect(await flaws()).toContain(`missing_file ${name}`);
    restore();
  }
  const swap = (one: string, other: string): void => {
    renameSync(join(stand.records, one), join(stand.records, "kept"));
    renameSync(join(stand.records, other), join(stand.records, one));
    renameSync(join(stand.records, "kept"), join(stand.records, other));
  };
  const [one = "", other = ""] = files.filter((name) => name.includes(".0001."));
  swap(one, other);
  expect(await flaws()).toEqual([`foreign ${one}`, `foreign ${other}`]);
  restore();
  const second = files.find((name) => name.includes(".0002.")) ?? "";
  swap(second, second.replace(".0002.", ".0001."));
  expect(await flaws()).toEqual([`reordered ${second.replace(".0002.", ".0001.")}`]);
  restore();
  const added = `20200101t000000z-1-00000000${one.slice(one.indexOf("."))}`;
  cpSync(join(stand.records, one), join(stand.records, added));
  expect(await flaws()).toEqual([`unknown_file ${added}`]);
  restore();
  rmSync(stand.records, { recursive: true });
  expect((await flaws()).length).toBeGreaterThan(3);
  restore();
  expect(await flaws()).toEqual([]);
});

it("REQ-O5 an old copy of the whole folder is found", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const trail = stand.open();
  trail.record(auditEntry(1));
  const copy = join(stand.paths.workspace, "copy");
  cpSync(stand.records, copy, { recursive: true });
  trail.record(auditEntry(2));
  trail.record(auditEntry(3));
  await stand.chain(3);
  rmSync(stand.records, { recursive: true });
  cpSync(copy, stand.records, { recursive: true });
  const { problems } = await stand.verify();
  expect(problems.map(({ what }) => what).sort()).toEqual(["cut", "missing_file"]);
});

it("REQ-O5 a trail that was forged with another key, or that is of another workspace, is found", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const other = auditStand();
  await other.chain(3);
  const [name = ""] = stand.files();
  const [forged = ""] = other.files();
  const text = readFileSync(join(other.records, forged), "utf8").replaceAll(
    forged.split(".")[0] ?? "",
    name.split(".")[0] ?? "",
  );
  writeFileSync(join(stand.records, name), text);
  expect((await stand.verify()).problems).toMatchObject([{ line: 1, what: "changed" }]);
});

it("REQ-O5 FAIL-J6 FAIL-J11 a link in the place of a file or of the folder is refused, not followed", async () => {
  const stand = auditStand();
  await stand.chain(3);
  const [name = ""] = stand.files();
  const path = join(stand.records, name);
  renameSync(path, join(stand.paths.workspace, "moved.jsonl"));
  symlinkSync(join(stand.paths.workspace, "moved.jsonl"), path);
  expect((await stand.verify()).problems).toMatchObject([{ what: "not_a_file", line: null }]);
  renameSync(stand.records, join(stand.paths.workspace, "elsewhere"));
  symlinkSync(join(stand.paths.workspace, "elsewhere"), stand.records);
  await expect(stand.verify()).rejects.toThrow("is a link");
  const trail = stand.open();
  expect(() => trail.record(auditEntry(1))).toThrow("The workspace's .llmc/audit is a link");
});

it.each([
  ["a link as .llmc/audit", ".llmc/audit", (at: string) => symlinkSync("/tmp", at), "is a link"],
  ["a link to nothing", ".llmc/audit", (at: string) => symlinkSync("nowhere", at), "is a link"],
  ["a file as .llmc/audit", ".llmc/audit", (at: string) => writeFileSync(at, "x"), "is not a folder"],
  ["a pipe as .llmc/audit", ".llmc/audit", (at: string) => execFileSync("mkfifo", [at]), "is not a folder"],
  ["a link as .llmc", ".llmc", (at: string) => symlinkSync("/tmp", at), "is a link"],
  ["a file as .llmc", ".llmc", (at: string) => writeFileSync(at, "x"), "is not a folder"],
] as const)(
  "FAIL-J6 of a workspace that brings %s, each answer names it, and what to do",
  (_what, name, make, why) => {
    const stand = auditStand();
    const at = join(stand.paths.workspace, name);
    rmSync(join(stand.paths.workspace, ".llmc"), { recursive: true, force: true });
    mkdirSync(join(at, ".."), { recursive: true });
    make(at);
    expect(refusedRecords(stand.paths)?.message).toContain(`${name} ${why}`);
    const trail = stand.open();
    for (const number of [1, 2])
      expect(() => trail.record(auditEntry(number))).toThrow(
        expect.objectContaining({
          code: "audit_unavailable",
          message: expect.stringContaining(`The workspace's ${name} ${why}`),
          hint: expect.stringContaining(`remove ${name}`),
        }),
      );
  },
);

it("REQ-O5 FAIL-J11 what follows the last record of a killed process is reported, byte by byte", async () => {
  const stand = auditStand();
  const killed = stand.open();
  for (let i = 1; i <= 3; i++) killed.record(auditEntry(i));
  const [name = ""] = stand.files();
  const path = join(stand.records, name);
  const original = readFileSync(path, "utf8");
  const { chain, seq, mac } = JSON.parse(original.trimEnd().split("\n").at(-1) ?? "");
  const forged = `{"chain":"${chain}","seq":${seq + 1},"prev":"${mac}","time":"2026-11-18T00:00:00.000Z","kind":"call","tool":"linux_fs_delete","outcome":"ok"`;
  const verifyWith = (added: string) => {
    writeFileSync(path, original + added);
    return stand.verify();
  };
  for (const added of [
    forged.padEnd(3000, "x"),
    `${forged},"x":"${"y".repeat(65_536)}`,
    `${forged},"mac":"${mac}"}`,
    `${forged}}`,
    "x",
    `${forged}\n${forged}`,
  ])
    expect(await verifyWith(added), added.slice(0, 200)).toMatchObject({
      ok: false,
      unproven: [],
      problems: [{ file: `.llmc/audit/${name}`, what: "changed" }],
    });
  for (const added of [
    forged,
    `${forged},"x":"${"é".repeat(1000)}`,
    `${forged},"a":${"[".repeat(60_000)}`,
    forged.slice(0, 10),
  ])
    expect(await verifyWith(added)).toMatchObject({
      ok: true,
      unproven: [{ file: `.llmc/audit/${name}`, bytes: Buffer.byteLength(added) }],
    });
  expect(await verifyWith("")).toMatchObject({ ok: true, unproven: [] });
});
