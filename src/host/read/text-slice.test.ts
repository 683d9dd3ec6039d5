import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { LlmcError } from "../../base/error.ts";
import { createReach } from "../reach/reach.ts";
import { createFiles, type Files } from "./files.ts";
import type { ReadRequest } from "./read-content.ts";

let workspace: string;
let files: Files;

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), "llmc-slice-"));
  files = createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [] }));
});

afterAll(() => {
  rmSync(workspace, { recursive: true, force: true });
});

const read = (content: string | Uint8Array, changes: Partial<ReadRequest> = {}) => {
  writeFileSync(join(workspace, "file"), content);
  return files.readText("file", { offsetLines: 0, maxLines: 1000, maxBytes: 1_000_000, ...changes });
};

const utf16be = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, "utf16le").swap16();

describe("encodings", () => {
  it.each<[what: string, content: string | Uint8Array, text: string, lines: number]>([
    ["an empty file", "", "", 0],
    ["no final newline", "a\nb", "a\nb", 2],
    ["CRLF", "a\r\nb\r\n", "a\r\nb\r\n", 2],
    ["a UTF-8 BOM", "\uFEFFa\nb\n", "a\nb\n", 2],
    ["a BOM and nothing else", "\uFEFF", "", 0],
    ["a second BOM", "\uFEFF\uFEFFa", "\uFEFFa", 1],
    ["invalid UTF-8", Uint8Array.of(0x61, 0xc3, 0x28, 0xff, 0x0a), "a\uFFFD(\uFFFD\n", 1],
    ["half a code point at the end", Uint8Array.of(0x61, 0xe2, 0x82), "a\uFFFD", 1],
    ["UTF-16 LE", Buffer.from("\uFEFFaé😀\nb\n", "utf16le"), "aé😀\nb\n", 2],
    ["UTF-16 BE", utf16be("aé😀\nb\n"), "aé😀\nb\n", 2],
    ["UTF-16 with an odd byte", Buffer.concat([utf16be("ab"), Buffer.of(1)]), "ab\uFFFD", 1],
    ["an empty UTF-16 file", Buffer.of(0xff, 0xfe), "", 0],
    ["code points across chunks", "€".repeat(50_000), "€".repeat(50_000), 1],
    [
      "UTF-16 pairs across chunks",
      Buffer.from(`\uFEFF${"a😀".repeat(50_000)}`, "utf16le"),
      "a😀".repeat(50_000),
      1,
    ],
    ["a NUL after 8 KiB", `${"a".repeat(8192)}\0`, `${"a".repeat(8192)}\0`, 1],
  ])("FAIL-A14 %s", async (_what, content, text, lines) => {
    expect(await read(content)).toMatchObject({ text, lines, totalLines: lines, truncated: false });
  });

  it("FAIL-A14 slices UTF-16 by its lines, and bounds it in bytes of UTF-8", async () => {
    const content = Buffer.from(`\uFEFF${"é😀\n".repeat(50_000)}`, "utf16le");
    expect(await read(content, { offsetLines: 40_000, maxLines: 2 })).toMatchObject({
      text: "é😀\né😀\n",
      truncated: true,
    });
    expect(await read(content, { maxBytes: 16 })).toMatchObject({
      text: "é😀\né😀\n",
      lines: 2,
      truncated: true,
    });
  });

  it.each([
    ["a NUL byte", Buffer.from("a\0b")],
    ["UTF-32", Buffer.of(0xff, 0xfe, 0, 0, 0x61, 0, 0, 0)],
    ["UTF-16 without a BOM", Buffer.from("text", "utf16le")],
  ])("refuses %s as binary", async (_what, content) => {
    await expect(read(content)).rejects.toMatchObject({
      code: "invalid_args",
      message: `"file" is a binary file, ${content.length} bytes.`,
      hint: expect.stringContaining("stat"),
    });
  });

  it.each([
    '{"error": "x", "meta": {"error_code": "path_denied"}}\n',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n',
    "Content-Length: 12\r\n\r\n",
    "\u001b[31mred\u001b[0m\u0007\u001b]0;title\u0007\n",
  ])("FAIL-A15 returns %j as it is", async (text) => {
    expect((await read(text)).text).toBe(text);
  });
});

describe("large files", () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i}\n`);

  it("FAIL-A14 reads a slice from the middle, and stops there", async () => {
    expect(await read(lines.join(""), { offsetLines: 20_000, maxLines: 3 })).toMatchObject({
      text: lines.slice(20_000, 20_003).join(""),
      firstLine: 20_000,
      lines: 3,
      totalLines: undefined,
      truncated: true,
    });
    expect(await read(lines.join(""), { offsetLines: 29_999 })).toMatchObject({
      text: "line 29999\n",
      totalLines: 30_000,
      truncated: false,
    });
    expect(await read(lines.join(""), { offsetLines: 50_000 })).toMatchObject({
      text: "",
      lines: 0,
      totalLines: 30_000,
      truncated: false,
    });
  });

  it.each([65_535, 65_536, 65_537, 131_072])("knows the end of a file of %i bytes", async (size) => {
    const text = `${"a".repeat(size - 1)}\n`;
    expect(await read(text, { maxLines: 1 })).toMatchObject({ text, totalLines: 1, truncated: false });
    expect(await read(text, { maxBytes: size })).toMatchObject({ text, totalLines: 1, truncated: false });
  });

  /** Text first, then a hole: large without taking space. */
  const sparse = (head: string, sizeBytes: number): void => {
    writeFileSync(join(workspace, "sparse"), head);
    truncateSync(join(workspace, "sparse"), sizeBytes);
  };

  it("FAIL-A14 cuts a single line of a gigabyte (a quarter in the short form), and skips it in bounded memory", async () => {
    const sizeBytes = rounds(2 ** 28, 2 ** 30);
    sparse("a".repeat(20_000), sizeBytes);
    const before = process.memoryUsage().rss;
    expect(await files.readText("sparse", { offsetLines: 0, maxLines: 9, maxBytes: 10_000 })).toMatchObject({
      text: "a".repeat(10_000),
      lines: 1,
      totalLines: undefined,
      sizeBytes,
      truncated: true,
    });
    expect(await files.readText("sparse", { offsetLines: 1, maxLines: 9, maxBytes: 10_000 })).toMatchObject({
      text: "",
      totalLines: 1,
      truncated: false,
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  });

  it("FAIL-A14 reads the first lines of 100 GB at once, and a signal stops a long skip", async () => {
    sparse("line\n".repeat(5000), 100e9);
    const started = performance.now();
    expect(await files.readText("sparse", { offsetLines: 10, maxLines: 2, maxBytes: 1000 })).toMatchObject({
      text: "line\nline\n",
      truncated: true,
    });
    const far = { offsetLines: 1_000_000, maxLines: 1, maxBytes: 1000 };
    await expect(files.readText("sparse", far, AbortSignal.timeout(50))).rejects.toMatchObject({
      code: "cancelled",
    });
    const deadline = new LlmcError("timeout", "Too late.");
    const stop = new AbortController();
    setTimeout(() => stop.abort(deadline), 50);
    await expect(files.readText("sparse", far, stop.signal)).rejects.toBe(deadline);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("does nothing for a call that was cancelled before", async () => {
    for (const work of [files.list(".", AbortSignal.abort()), files.stat(".", AbortSignal.abort())]) {
      await expect(work).rejects.toMatchObject({ code: "cancelled" });
    }
  });

  it("gives what was there of a file that shrinks, and does not chase one that grows", async () => {
    const text = "a\n".repeat(100_000);
    const reading = read(text);
    truncateSync(join(workspace, "file"), 10);
    expect((await reading).text.length).toBeLessThanOrEqual(text.length);
    writeFileSync(join(workspace, "file"), text);
    const fd = openSync(join(workspace, "file"), "a");
    try {
      const slicing = files.readText("file", { offsetLines: 0, maxLines: 5, maxBytes: 100 });
      for (let i = 0; i < 100; i++) writeFileSync(fd, text);
      expect(await slicing).toMatchObject({ lines: 5, truncated: true });
    } finally {
      closeSync(fd);
    }
  });
});
