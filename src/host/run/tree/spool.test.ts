import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSpool } from "./spool.ts";

const fill = (pieces: readonly string[], headBytes: number, keptBytes: number) => {
  const spool = createSpool({ headBytes, keptBytes });
  for (const piece of pieces) spool.write(Buffer.from(piece));
  return spool;
};

describe("a command's output", () => {
  test("is kept whole up to its bound, with a true beginning and a true end", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 400 }),
        (pieces, headBytes) => {
          const whole = Buffer.from(pieces.join(""));
          const spool = fill(pieces, headBytes, 1_000_000);
          expect(spool.totalBytes).toBe(whole.length);
          expect(spool.isCut).toBe(false);
          expect(Buffer.concat([spool.head(), spool.tail()])).toEqual(whole);
          expect(`${[...spool.lines()].join("\n")}\n`).toBe(`${whole.toString().replace(/\n$/, "")}\n`);
          spool.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  test("FAIL-C5: beyond the bound the middle is dropped, the end is there, and the gap is told", () => {
    const spool = createSpool({ headBytes: 1000, keptBytes: 5000 });
    for (let i = 0; i < 100_000; i++) spool.write(Buffer.from(`line ${i}\n`));
    expect(spool.isCut).toBe(true);
    expect(spool.totalBytes).toBeGreaterThan(1_000_000);
    expect(spool.head().toString()).toMatch(/^line 0\n/);
    expect(spool.tail().toString()).toMatch(/^line \d+\n[\s\S]*line 99999\n$/);
    const lines = [...spool.lines()];
    expect(lines[0]).toBe("line 0");
    expect(lines.at(-1)).toBe("line 99999");
    expect(lines.filter((line) => /^\[\d+ bytes were not kept; the end:\]$/.test(line))).toHaveLength(1);
    expect(lines.join("\n").length).toBeLessThan(80_000);
    spool.close();
  });

  test("in single bytes and in one line without an end needs no more memory than its bounds", () => {
    const spool = createSpool({ headBytes: 4 * 1024 * 1024, keptBytes: 8 * 1024 * 1024 });
    const byte = Buffer.from("x");
    for (let i = 0; i < 300_000; i++) spool.write(byte);
    const before = process.memoryUsage.rss();
    const block = Buffer.alloc(65_536, "y");
    for (let i = 0; i < 5000; i++) spool.write(block);
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024);
    expect(spool.totalBytes).toBe(300_000 + 5000 * 65_536);
    for (const line of spool.lines()) expect(line.length).toBeLessThanOrEqual(1_048_576);
    spool.close();
  });
});
