import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownState, USER_STATE } from "../../../../test/user-state.ts";
import { createReach } from "../../reach/reach.ts";
import { createFiles } from "../../read/files.ts";
import { createGrep } from "../../search/grep-text.ts";
import type { Database } from "../database/database.ts";
import { createStateDb } from "../state-db.ts";
import { createHandles, type Handles, type HandlesOptions, newHandleId } from "./handles.ts";

const ME = { principal: "local" };

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const ALL = { offsetLines: 0, maxLines: 1_000_000, maxBytes: 100_000_000 };

let workspace: string;
let state: Database;
let clock: number;
let roots: string[];
let denylist: string[];

const make = (over: Partial<HandlesOptions> = {}): Handles =>
  createHandles({
    state,
    files: createFiles(createReach({ workspace, roots: () => roots, denylist: () => denylist })),
    workspace,
    limits: () => ({ ttlSeconds: 86_400, maxTotalBytes: 256 * MIB, maxBytesEach: 64 * MIB }),
    now: () => clock,
    newId: newHandleId,
    pid: process.pid,
    grep: createGrep(() => 10_000),
    ...over,
  });

const limited = (maxTotalBytes: number, maxBytesEach: number): Handles =>
  make({ limits: () => ({ ttlSeconds: 86_400, maxTotalBytes, maxBytesEach }) });

const put = (path: string, content: string | Uint8Array): void =>
  writeFileSync(join(workspace, path), content);

const count = (table: string): unknown =>
  state.read(() => state.sql(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

const numbered = (n: number, tag = ""): string[] =>
  Array.from({ length: n }, (_, i) => `${tag}line ${i} ${"é".repeat(i % 90)}`);

const allChunks = async (handles: Handles, id: string): Promise<string> => {
  let text = "";
  for (let n = 0; ; n++) {
    const chunk = await handles.readChunk(ME, id, n);
    expect(chunk.firstLine).toBe(text.split("\n").length - 1);
    text += chunk.text;
    if (!chunk.truncated) {
      await expect(handles.readChunk(ME, id, n + 1)).rejects.toMatchObject({
        code: "invalid_args",
        message: expect.stringContaining(`has ${n + 1}`),
      });
      return text;
    }
  }
};

const missing = { code: "handle_not_found", hint: expect.stringContaining("Repeat the call") };

beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-handles-")));
  state = createStateDb({ workspace, userState: USER_STATE, onWarning: (message) => expect.fail(message) });
  clock = Date.now();
  roots = ["."];
  denylist = [".env", "*.pem"];
  mkdirSync(join(workspace, "src"));
});

afterEach(() => {
  state.close();
  rmSync(workspace, { recursive: true, force: true });
});

describe("REQ-F7 stored lines", () => {
  it("come back by lines and by chunks, all of them", async () => {
    const handles = make();
    const lines = numbered(5000);
    const id = await handles.put(ME, "fs_list", "src", lines);
    expect(id).toMatch(/^h_[a-z2-9]{12}$/);
    const text = `${lines.join("\n")}\n`;
    const whole = await handles.readLines(ME, id, ALL);
    expect(whole).toMatchObject({
      text,
      firstLine: 0,
      lines: 5000,
      totalLines: 5000,
      truncated: false,
      stale: false,
    });
    expect(whole.info).toMatchObject({
      id,
      kind: "fs_list",
      source: "src",
      sizeBytes: Buffer.byteLength(text),
    });
    expect(await allChunks(handles, id)).toBe(text);
  });

  it("are found at any line, with the same answer as from the start", async () => {
    const handles = make();
    // Lines over several chunks, and empty ones.
    const lines = [...numbered(1000), "x".repeat(200_000), "", "", ...numbered(2000, "b")];
    const id = await handles.put(ME, "output", "", lines);
    for (const offsetLines of [0, 1, 777, 999, 1000, 1001, 1002, 1003, 2500, 3001, 3002]) {
      const slice = await handles.readLines(ME, id, { offsetLines, maxLines: 3, maxBytes: 1_000_000 });
      const expected = lines.slice(offsetLines, offsetLines + 3);
      expect(slice.text, String(offsetLines)).toBe(expected.map((line) => `${line}\n`).join(""));
      expect(slice).toMatchObject({
        firstLine: offsetLines,
        lines: expected.length,
        totalLines: 3003,
        truncated: offsetLines + 3 < 3003,
      });
    }
    expect(await handles.readLines(ME, id, { ...ALL, offsetLines: 5000 })).toMatchObject({
      text: "",
      lines: 0,
      totalLines: 3003,
    });
    expect(await handles.readLines(ME, id, { ...ALL, maxBytes: 20 })).toMatchObject({
      text: "line 0 \nline 1 é\n",
      lines: 2,
      truncated: true,
    });
  });

  it("may be none, and may come one after the other", async () => {
    const handles = make();
    const empty = await handles.put(ME, "output", "", []);
    expect(await handles.readLines(ME, empty, ALL)).toMatchObject({
      text: "",
      lines: 0,
      totalLines: 0,
      truncated: false,
    });
    expect(await allChunks(handles, empty)).toBe("");
    const slow = async function* (): AsyncGenerator<string> {
      yield "a";
      await new Promise((resolve) => setTimeout(resolve, 5));
      yield "b\ud800";
    };
    expect(await handles.readLines(ME, await handles.put(ME, "output", "", slow()), ALL)).toMatchObject({
      text: "a\nb\ufffd\n",
    });
  });

  it("FAIL-G2: give others a turn after each, whoever keeps many small ones in a row", async () => {
    const handles = make();
    const others = { turns: 0, isDone: false };
    const takeTurn = (): void => {
      others.turns++;
      if (!others.isDone) setImmediate(takeTurn);
    };
    setImmediate(takeTurn);
    for (let n = 0; n < 20; n++) await handles.putText(ME, "output", "", `text ${n}`);
    others.isDone = true;
    expect(others.turns).toBeGreaterThanOrEqual(20);
  });

  it("outlive the process, and expire", async () => {
    const id = await make().put(ME, "output", "", ["kept"]);
    state.close();
    state = createStateDb({ workspace, userState: USER_STATE, onWarning: (message) => expect.fail(message) });
    const handles = make();
    expect(await handles.readLines(ME, id, ALL)).toMatchObject({ text: "kept\n" });
    expect(await handles.list(ME)).toMatchObject([{ id, expiresAt: new Date(clock + 24 * HOUR_MS) }]);
    clock += 24 * HOUR_MS;
    await expect(handles.readLines(ME, id, ALL)).rejects.toMatchObject(missing);
    await expect(handles.readChunk(ME, id, 0)).rejects.toMatchObject(missing);
    expect(await handles.list(ME)).toEqual([]);
    await handles.put(ME, "output", "", ["new"]);
    expect([count("handles"), count("blobs"), count("chunks")]).toEqual([1, 1, 1]);
  });

  it("are not found by a wrong name, and looking makes no database", async () => {
    const handles = make();
    await expect(handles.readLines(ME, "h_abcdefghijkm", ALL)).rejects.toMatchObject(missing);
    expect(await handles.list(ME)).toEqual([]);
    expect(state.exists()).toBe(false);
    const id = await handles.put(ME, "output", "", ["a"]);
    await expect(handles.readChunk(ME, id, -1)).rejects.toMatchObject({ code: "invalid_args" });
    await expect(handles.readChunk(ME, id, 0.5)).rejects.toMatchObject({ code: "invalid_args" });
  });

  it("that are equal are stored once, and live as long as one handle does", async () => {
    const handles = make();
    const lines = numbered(30_000);
    const ids = [await handles.put(ME, "output", "", lines)];
    const stored = count("chunks");
    clock += HOUR_MS;
    ids.push(await handles.put(ME, "fs_list", ".", lines));
    expect([count("handles"), count("blobs"), count("chunks")]).toEqual([2, 1, stored]);
    clock += 23.5 * HOUR_MS;
    await handles.put(ME, "output", "", ["other"]);
    await expect(handles.readLines(ME, ids[0] ?? "", ALL)).rejects.toMatchObject(missing);
    expect(await handles.readLines(ME, ids[1] ?? "", ALL)).toMatchObject({ lines: 30_000 });
  });

  it("whose source fails are forgotten", async () => {
    const failing = function* (): Generator<string> {
      yield* numbered(40_000);
      throw new Error("the search broke");
    };
    const handles = make();
    await expect(handles.put(ME, "output", "", failing())).rejects.toThrow("the search broke");
    await handles.put(ME, "output", "", ["a"]);
    expect([count("handles"), count("blobs"), count("chunks")]).toEqual([1, 1, 1]);
  });

  it("can be put by many at once", async () => {
    const handles = make();
    const ids = await Promise.all(
      Array.from({ length: 12 }, (_, i) => handles.put(ME, "output", "", numbered(12_000, `${i}:`))),
    );
    for (const [i, id] of ids.entries()) {
      expect((await handles.readLines(ME, id, ALL)).text).toBe(`${numbered(12_000, `${i}:`).join("\n")}\n`);
    }
    expect(new Set(ids).size).toBe(12);
  });
});

describe("REQ-F7 the space for handles", () => {
  it("is bounded for each: the rest is dropped, and the last line says so", async () => {
    const handles = limited(256 * MIB, MIB);
    let asked = 0;
    const endless = function* (): Generator<string> {
      for (;;) yield `line ${asked++} ${"x".repeat(100)}`;
    };
    const id = await handles.put(ME, "output", "", endless());
    const { text, info } = await handles.readLines(ME, id, ALL);
    expect(info.sizeBytes).toBeLessThanOrEqual(MIB);
    expect(info.sizeBytes).toBeGreaterThan(MIB - 1000);
    const lines = text.trimEnd().split("\n");
    expect(lines.at(-1)).toBe(
      "[llmc kept the first 1.0 MiB; the rest was dropped (mcp.handles.max_each_mb)]",
    );
    expect(lines.at(-2)).toBe(`line ${lines.length - 2} ${"x".repeat(100)}`);
    expect(asked).toBe(lines.length);
  });

  it("is bounded for a single line", async () => {
    const id = await limited(256 * MIB, MIB).put(ME, "output", "", ["é".repeat(MIB), "next"]);
    const { text } = await limited(256 * MIB, MIB).readLines(ME, id, ALL);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MIB);
    expect(text).toMatch(/^é{500000,}\n\[llmc kept the first 1\.0 MiB;.*\n$/);
  });

  it("is bounded for all: the oldest go first, never the new one", async () => {
    const handles = limited(3 * MIB, 2 * MIB);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      clock += 1000;
      ids.push(await handles.put(ME, "output", "", numbered(8000, `${i}`)));
    }
    const kept = (await handles.list(ME)).map(({ id }) => id);
    expect(kept).toEqual(ids.toReversed().slice(0, kept.length));
    expect(kept.length).toBeGreaterThan(1);
    expect(kept.length).toBeLessThan(5);
    expect(count("blobs")).toBe(kept.length);
    await expect(handles.readLines(ME, ids[0] ?? "", ALL)).rejects.toMatchObject(missing);
    const large = await limited(MIB, 64 * MIB).put(ME, "output", "", numbered(50_000));
    expect((await handles.list(ME)).map(({ id }) => id)).toEqual([large]);
  });

  it("goes back to the disk, but for some that the next ones need", async () => {
    const sizeMib = (): number => {
      state.close();
      return statSync(ownState(workspace, "state.db")).size / MIB;
    };
    const handles = limited(256 * MIB, 256 * MIB);
    const line = "x".repeat(1000);
    await handles.put(ME, "output", "", Array.from({ length: 100_000 }, (_, i) => `${i} ${line}`).values());
    expect(sizeMib()).toBeGreaterThan(95);
    clock += 48 * HOUR_MS;
    await handles.put(ME, "output", "", ["a"]);
    expect(sizeMib()).toBeLessThan(66);
  });
});

describe("REQ-F7 a handle to a file", () => {
  it("holds the file as it was, and says when it has changed", async () => {
    const handles = make();
    put("src/a.ts", "one\ntwo\nthree");
    const id = await handles.putFile(ME, "src/a.ts");
    expect(await handles.readLines(ME, id, { offsetLines: 1, maxLines: 1, maxBytes: 100 })).toMatchObject({
      info: { kind: "file_content", source: "src/a.ts", sizeBytes: 13 },
      text: "two\n",
      firstLine: 1,
      lines: 1,
      truncated: true,
      stale: false,
    });
    put("src/a.ts", "one\nTWO\nthree and more\n");
    const before = { text: "one\ntwo\nthree", stale: true };
    expect(await handles.readLines(ME, id, ALL)).toMatchObject(before);
    expect(await handles.readChunk(ME, id, 0)).toMatchObject(before);
    rmSync(join(workspace, "src/a.ts"));
    expect(await handles.readLines(ME, id, ALL)).toMatchObject(before);
  });

  it("that is too large stays a reference: it reads the file as it is now, and says when it has changed", async () => {
    const handles = limited(256 * MIB, 260);
    put("src/a.ts", "one\ntwo\nthree\n");
    const id = await handles.putFile(ME, "src/a.ts");
    expect(await handles.readLines(ME, id, { offsetLines: 1, maxLines: 1, maxBytes: 100 })).toMatchObject({
      info: { kind: "file_content", source: "src/a.ts", sizeBytes: 0 },
      text: "two\n",
      firstLine: 1,
      lines: 1,
      truncated: true,
      stale: false,
    });
    expect(count("chunks")).toBe(0);
    put("src/b.ts", "one\nTWO\nthree\n");
    renameSync(join(workspace, "src/b.ts"), join(workspace, "src/a.ts"));
    expect(await handles.readLines(ME, id, ALL)).toMatchObject({ text: "one\nTWO\nthree\n", stale: true });
    expect(await handles.readChunk(ME, id, 0)).toMatchObject({ text: "one\nTWO\nthree\n", stale: true });
    rmSync(join(workspace, "src/a.ts"));
    await expect(handles.readLines(ME, id, ALL)).rejects.toMatchObject({ code: "file_not_found" });
  });

  it("is the same one as long as the file is, and lives on with each use", async () => {
    const handles = make();
    put("a.txt", "one\n");
    const id = await handles.putFile(ME, "a.txt");
    clock += 20 * HOUR_MS;
    symlinkSync("a.txt", join(workspace, "link"));
    expect(await handles.putFile(ME, "link")).toBe(id);
    clock += 20 * HOUR_MS;
    expect(await handles.readLines(ME, id, ALL)).toMatchObject({ text: "one\n", stale: false });
    utimesSync(join(workspace, "a.txt"), 1, 1);
    expect(await handles.putFile(ME, "a.txt")).not.toBe(id);
  });

  it.each([
    ["empty", "", ""],
    ["one short line", "no newline", "no newline"],
    ["characters over every border", `${"€".repeat(60_000)}\n${"a€😀".repeat(40_000)}`, undefined],
    ["many lines", `${numbered(9000).join("\n")}\n`, undefined],
    ["one long line between others", `a\n${"x".repeat(300_000)}\nb\n`, undefined],
    ["a border at the end", "x".repeat(2 * 65_536), undefined],
    ["a newline at each border", `${"x".repeat(65_535)}\n`.repeat(3), undefined],
  ])("pages by chunks: %s", async (_what, content, expected) => {
    put("a.txt", content);
    const handles = make();
    const id = await handles.putFile(ME, "a.txt");
    expect(await allChunks(handles, id)).toBe(expected ?? content);
    utimesSync(join(workspace, "a.txt"), 1, 1);
    const reference = await limited(256 * MIB, 257).putFile(ME, "a.txt");
    expect(reference).not.toBe(id);
    expect(await allChunks(handles, reference)).toBe(expected ?? content);
  });

  it("is searched: numbered lines, from a line on, the match of a long line, and the total", async () => {
    const long = `${"é".repeat(3000)}needle${"y".repeat(3000)}`;
    put("a.txt", `one\nNeedle two\n${long}\n${"filler\n".repeat(20_000)}last needle`);
    for (const each of [64 * MIB, 260]) {
      const handles = limited(256 * MIB, each);
      utimesSync(join(workspace, "a.txt"), each, each);
      const id = await handles.putFile(ME, "a.txt");
      const query = { pattern: "need[l]e", offsetLines: 0, maxHits: 2 };
      expect(await handles.search(ME, id, query)).toMatchObject({
        text: `2:Needle two\n3:…${"é".repeat(30)}needle${"y".repeat(164)}…\n`,
        totalHits: 3,
        lines: 3,
        truncated: true,
      });
      expect(await handles.search(ME, id, { ...query, offsetLines: 3 })).toMatchObject({
        text: "20004:last needle\n",
        totalHits: 1,
        truncated: false,
      });
      expect(await handles.search(ME, id, { ...query, pattern: "nowhere" })).toMatchObject({
        text: "",
        totalHits: 0,
      });
      await expect(handles.search(ME, id, { ...query, pattern: "(" })).rejects.toMatchObject({
        code: "invalid_args",
      });
    }
  });

  it("pages by chunks through what is not plain UTF-8, as it is read by lines", async () => {
    const text = `${numbered(5000).join("\r\n")}\n`;
    put("bom", `\ufeff${text}`);
    put("utf16", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]));
    put("latin1", Buffer.from(numbered(5000).join("\n"), "latin1"));
    const handles = make();
    for (const name of ["bom", "utf16", "latin1"]) {
      const id = await handles.putFile(ME, name);
      expect(await allChunks(handles, id), name).toBe((await handles.readLines(ME, id, ALL)).text);
    }
  });

  it("finds a far chunk, also within a line that is longer than anything else that is read", async () => {
    const line = "x".repeat(999);
    put("big", `${line}\n`.repeat(40_000));
    const handles = limited(256 * MIB, MIB);
    const id = await handles.putFile(ME, "big");
    const far = await handles.readChunk(ME, id, 500);
    expect(far).toMatchObject({ firstLine: Math.floor((500 * 65_536) / 1000), truncated: true });
    expect(Buffer.byteLength(far.text)).toBe(65_536);
    put("long", `${"x".repeat(40 * MIB)}\n`);
    const long = await handles.putFile(ME, "long");
    expect((await handles.readChunk(ME, long, 100)).text).toBe("x".repeat(65_536));
    expect((await handles.readChunk(ME, long, 600)).text).toBe("x".repeat(65_536));
  });

  it("is not given for what cannot be read", async () => {
    const handles = make();
    put(".env", "KEY=1");
    await expect(handles.putFile(ME, ".env")).rejects.toMatchObject({ code: "path_denied" });
    await expect(handles.putFile(ME, "src")).rejects.toMatchObject({ code: "is_directory" });
    await expect(handles.putFile(ME, "none")).rejects.toMatchObject({ code: "file_not_found" });
    await expect(handles.putFile(ME, ".llmc/state.db")).rejects.toMatchObject({ code: "path_denied" });
    expect(await handles.list(ME)).toEqual([]);
  });
});

describe("REQ-F7 FAIL-A10 a handle gives nothing that its reader may not read now", () => {
  const readers: readonly (readonly [string, (handles: Handles, id: string) => Promise<unknown>])[] = [
    ["by lines", (handles, id) => handles.readLines(ME, id, ALL)],
    ["by chunk", (handles, id) => handles.readChunk(ME, id, 0)],
  ];

  it.each(readers)("%s: the roots have changed", async (_way, read) => {
    const handles = make();
    put("src/a.ts", "one\n");
    const ids = [
      await handles.putFile(ME, "src/a.ts"),
      await handles.put(ME, "fs_list", "src", ["a.ts"]),
      await handles.put(ME, "search_hits", "src/a.ts", ["src/a.ts:1"]),
      await handles.put(ME, "file_content", "src/a.ts", ["one"]),
    ];
    for (const id of ids) expect(await read(handles, id)).toMatchObject({ stale: false });
    roots = ["docs"];
    for (const id of ids) await expect(read(handles, id)).rejects.toMatchObject({ code: "path_denied" });
    roots = [];
    for (const id of ids) await expect(read(handles, id)).rejects.toMatchObject({ code: "path_denied" });
  });

  it.each(readers)("%s: the denylist has changed", async (_way, read) => {
    const handles = make();
    put("src/a.ts", "one\n");
    const ids = [
      await handles.putFile(ME, "src/a.ts"),
      await handles.put(ME, "search_hits", "src/a.ts", ["one"]),
      await handles.put(ME, "file_content", "src/a.ts", ["one"]),
    ];
    denylist = ["a.ts"];
    for (const id of ids) await expect(read(handles, id)).rejects.toMatchObject({ code: "path_denied" });
  });

  it.each(readers)("%s: the source is now a link to the outside", async (_way, read) => {
    const handles = make();
    put("src/a.ts", "one\n");
    const ids = [await handles.putFile(ME, "src/a.ts"), await handles.put(ME, "fs_list", "src", ["a.ts"])];
    rmSync(join(workspace, "src"), { recursive: true });
    symlinkSync("/etc", join(workspace, "src"));
    for (const id of ids) await expect(read(handles, id)).rejects.toMatchObject({ code: "path_denied" });
  });

  it("but stored lines outlive their source, and say so", async () => {
    const handles = make();
    const id = await handles.put(ME, "fs_list", join(workspace, "src"), ["a.ts"]);
    expect(await handles.readLines(ME, id, ALL)).toMatchObject({ info: { source: "src" }, stale: false });
    rmSync(join(workspace, "src"), { recursive: true });
    expect(await handles.readLines(ME, id, ALL)).toMatchObject({ text: "a.ts\n", stale: true });
  });

  it("stops with its caller", async () => {
    const handles = make();
    const id = await handles.put(ME, "fs_list", "src", ["a.ts"]);
    const gone = AbortSignal.abort();
    await expect(handles.readLines(ME, id, ALL, gone)).rejects.toMatchObject({ code: "cancelled" });
    await expect(handles.readChunk(ME, id, 0, gone)).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("a renderer", () => {
  const render = (lines: readonly string[]): Promise<string[]> =>
    Promise.resolve(lines.map((line) => `<${line}>`));

  it("shows the lines of its kind, in slices and in chunks", async () => {
    const handles = make({ renderers: { search_hits: render } });
    const lines = numbered(3000);
    const shown = lines.map((line) => `<${line}>\n`);
    const id = await handles.put(ME, "search_hits", ".", lines);
    expect(await handles.readLines(ME, id, { offsetLines: 2, maxLines: 2, maxBytes: 1000 })).toMatchObject({
      text: shown.slice(2, 4).join(""),
      lines: 2,
      truncated: true,
    });
    expect((await handles.readLines(ME, id, ALL)).text).toBe(shown.join(""));
    const chunks: string[] = [];
    for (let n = 0, more = true; more; n++) {
      const chunk = await handles.readChunk(ME, id, n);
      expect(chunk.firstLine).toBe(chunks.join("").split("\n").length - 1);
      chunks.push(chunk.text);
      more = chunk.firstLine + chunk.lines < 3000;
    }
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.join("")).toBe(shown.join(""));
    const plain = await handles.put(ME, "output", "", ["a"]);
    expect(await handles.readLines(ME, plain, ALL)).toMatchObject({ text: "a\n" });
  });

  it("keeps to the bytes that were asked for, in whole lines", async () => {
    const handles = make({
      renderers: { search_hits: async (lines) => lines.map((line) => `${line} ${"€".repeat(100)}`) },
    });
    const id = await handles.put(ME, "search_hits", ".", ["a", "b", "c"]);
    const first = await handles.readLines(ME, id, { offsetLines: 0, maxLines: 10, maxBytes: 700 });
    expect(first).toMatchObject({ lines: 2, truncated: true, totalLines: 3 });
    const second = await handles.readLines(ME, id, { offsetLines: 2, maxLines: 10, maxBytes: 700 });
    expect(second).toMatchObject({ lines: 1, truncated: false });
    const cut = await handles.readLines(ME, id, { offsetLines: 0, maxLines: 10, maxBytes: 100 });
    expect(cut).toMatchObject({ text: `a ${"€".repeat(32)}`, lines: 1, truncated: true });
  });

  it("is not asked about the line that says that the rest was dropped", async () => {
    const handles = make({
      renderers: { search_hits: render },
      limits: () => ({ ttlSeconds: 60, maxTotalBytes: MIB, maxBytesEach: 1000 }),
    });
    const id = await handles.put(ME, "search_hits", ".", numbered(1000));
    const { text, lines, totalLines } = await handles.readLines(ME, id, ALL);
    expect(text).toMatch(/>\n\[llmc kept.*\]\n$/);
    expect(lines).toBe(totalLines);
  });

  it("that loses lines is an internal error", async () => {
    const handles = make({ renderers: { search_hits: async () => [] } });
    const id = await handles.put(ME, "search_hits", ".", ["a"]);
    await expect(handles.readLines(ME, id, ALL)).rejects.toMatchObject({ code: "internal_error" });
  });
});
