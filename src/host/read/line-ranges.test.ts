import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LineRange, readLineRanges } from "./line-ranges.ts";

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "llmc-lines-"));
});

afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const read = async (content: string | Uint8Array, ranges: readonly LineRange[]) => {
  const path = join(dir, "file");
  writeFileSync(path, content);
  const fd = openSync(path, "r");
  try {
    return await readLineRanges(fd, fstatSync(fd).size, ranges, undefined);
  } finally {
    closeSync(fd);
  }
};

const range = (firstLine: number, lastLine: number): LineRange => ({ firstLine, lastLine });

it("gives the lines of each range, also where they overlap, in the order asked for", async () => {
  const text = "a\nb\nc\nd\ne";
  expect(await read(text, [range(2, 3), range(1, 2), range(4, 9), range(6, 7)])).toEqual([
    ["b", "c"],
    ["a", "b"],
    ["d", "e"],
    [],
  ]);
  expect(await read("", [range(1, 2)])).toEqual([[]]);
  expect(await read("\n\nx\n", [range(1, 4)])).toEqual([["", "", "x"]]);
  expect(await read("a\r\nb\r\n", [range(1, 2)])).toEqual([["a", "b"]]);
  expect(await read("a\0b", [range(1, 1)])).toBe("binary");
});

it("FAIL-A14 FAIL-B3 decodes as files are read, and cuts long lines", async () => {
  expect(await read(Buffer.from("\uFEFFä\nb\n", "utf16le"), [range(1, 2)])).toEqual([["ä", "b"]]);
  expect(await read("\uFEFFä\n", [range(1, 1)])).toEqual([["ä"]]);
  expect(await read(Buffer.from([0x61, 0xff, 0x0a]), [range(1, 1)])).toEqual([["a\uFFFD"]]);
  const long = `${"é".repeat(5_000_000)}\nnext\n`;
  expect(await read(long, [range(1, 2)])).toEqual([[`${"é".repeat(200)}…`, "next"]]);
  expect(await read("x".repeat(200), [range(1, 1)])).toEqual([["x".repeat(200)]]);
  expect(await read("x".repeat(201), [range(1, 1)])).toEqual([[`${"x".repeat(200)}…`]]);
});

it("agrees with splitting the whole text", async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.nat(90_000).map((n) => "y".repeat(n % 199)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 2000, size: "max" }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 2000 }), fc.nat(20)), { maxLength: 5 }),
      async (written, spans) => {
        const lines = written.map((text) => text.replace(/[\r\n\0\uFEFF]/g, "-"));
        const ranges = spans.map(([first, more]) => range(first, first + more));
        const expected = ranges.map(({ firstLine, lastLine }) => lines.slice(firstLine - 1, lastLine));
        expect(await read(lines.map((text) => `${text}\n`).join(""), ranges)).toEqual(expected);
      },
    ),
    { numRuns: 40 },
  );
});
