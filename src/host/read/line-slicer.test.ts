import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { createLineSlicer, type LineSlice, type SliceBounds } from "./line-slicer.ts";

/** Feeds pieces of a size until the slice is whole, as the reader of files does. */
const slice = (bytes: Buffer, bounds: SliceBounds, pieceBytes = bytes.length + 1): LineSlice => {
  const slicer = createLineSlicer(bounds);
  for (let at = 0; ; at += pieceBytes) {
    const state = slicer.push(bytes.subarray(at, at + pieceBytes));
    const ended = at + pieceBytes >= bytes.length;
    if (ended || state === "done" || state === "over") return slicer.finish(ended);
  }
};

const bounds = (offsetLines: number, maxLines: number, maxBytes = 1_000_000): SliceBounds => ({
  offsetLines,
  maxLines,
  maxBytes,
});

describe("slices by lines", () => {
  it.each<[text: string, SliceBounds, Omit<LineSlice, "firstLine" | "endByte">]>([
    ["", bounds(0, 10), { text: "", lines: 0, totalLines: 0, truncated: false }],
    ["\n", bounds(0, 10), { text: "\n", lines: 1, totalLines: 1, truncated: false }],
    ["a", bounds(0, 10), { text: "a", lines: 1, totalLines: 1, truncated: false }],
    ["a\nb", bounds(0, 10), { text: "a\nb", lines: 2, totalLines: 2, truncated: false }],
    ["a\nb\n", bounds(0, 2), { text: "a\nb\n", lines: 2, totalLines: 2, truncated: false }],
    ["a\nb\n", bounds(0, 1), { text: "a\n", lines: 1, totalLines: 2, truncated: true }],
    ["a\nb\n", bounds(1, 1), { text: "b\n", lines: 1, totalLines: 2, truncated: false }],
    ["a\nb\n", bounds(2, 1), { text: "", lines: 0, totalLines: 2, truncated: false }],
    ["a\nb\n", bounds(9, 1), { text: "", lines: 0, totalLines: 2, truncated: false }],
    ["a\nb\n", bounds(0, 0), { text: "", lines: 0, totalLines: 2, truncated: true }],
    ["a\r\nb\r\n", bounds(0, 1), { text: "a\r\n", lines: 1, totalLines: 2, truncated: true }],
    ["\n\n\n", bounds(1, 1), { text: "\n", lines: 1, totalLines: 3, truncated: true }],
    ["ab\ncd\nef\n", bounds(0, 9, 7), { text: "ab\ncd\n", lines: 2, totalLines: 3, truncated: true }],
    ["ab\ncd\n", bounds(0, 9, 6), { text: "ab\ncd\n", lines: 2, totalLines: 2, truncated: false }],
    ["abcdef", bounds(0, 9, 4), { text: "abcd", lines: 1, totalLines: 1, truncated: true }],
    ["aé€", bounds(0, 9, 2), { text: "a", lines: 1, totalLines: 1, truncated: true }],
    ["aé€", bounds(0, 9, 5), { text: "aé", lines: 1, totalLines: 1, truncated: true }],
    ["a😀", bounds(0, 9, 4), { text: "a", lines: 1, totalLines: 1, truncated: true }],
    ["a😀", bounds(0, 9, 5), { text: "a😀", lines: 1, totalLines: 1, truncated: false }],
    ["😀", bounds(0, 9, 3), { text: "", lines: 0, totalLines: 1, truncated: true }],
    ["a\n", bounds(0, 9, 0), { text: "", lines: 0, totalLines: 1, truncated: true }],
  ])("FAIL-A14 %j by %j", (text, given, expected) => {
    expect(slice(Buffer.from(text), given)).toMatchObject(expected);
  });

  it("FAIL-A14 replaces what is not UTF-8, and stays within the bytes", () => {
    expect(slice(Buffer.from([0x61, 0xff, 0x62]), bounds(0, 9)).text).toBe("a\uFFFDb");
    expect(slice(Buffer.alloc(10, 0xff), bounds(0, 9, 10))).toMatchObject({
      text: "\uFFFD".repeat(2),
      endByte: 2,
      truncated: true,
    });
  });

  it("does not know the total where it stopped before the end", () => {
    expect(slice(Buffer.from("a\nb\nc\n"), bounds(0, 1), 2)).toMatchObject({
      totalLines: undefined,
      truncated: true,
    });
  });
});

const small = fc.record({ offsetLines: fc.nat(6), maxLines: fc.nat(6), maxBytes: fc.nat(30) });
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

describe("properties of slices", () => {
  const unit = fc.constantFrom("a", "\n", "\n", "\r", "é", "€", "😀");

  it("FAIL-A14 gives the same slice in any pieces, which is the one that reading it whole gives", () => {
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 20 }),
        small,
        fc.integer({ min: 1, max: 8 }),
        (text, given, piece) => {
          const wanted = linesOf(text).slice(given.offsetLines, given.offsetLines + given.maxLines);
          const result = slice(Buffer.from(text), given, piece);
          const whole = wanted.filter(
            (_, i) => Buffer.byteLength(wanted.slice(0, i + 1).join("")) <= given.maxBytes,
          );
          if (whole.length > 0 || wanted.length === 0) expect(result.text).toBe(whole.join(""));
          else expect(wanted[0]?.startsWith(result.text)).toBe(true);
          expect(result.lines).toBe(linesOf(result.text).length);
          expect(result.totalLines ?? linesOf(text).length).toBe(linesOf(text).length);
          const end = linesOf(text).slice(0, given.offsetLines).join("").length + result.text.length;
          expect(result.truncated).toBe(given.offsetLines < linesOf(text).length && end < text.length);
        },
      ),
      { numRuns: rounds(400, 2000) },
    );
  });

  it("FAIL-A14 pages through a file without loss, where lines fit", () => {
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (text, maxLines) => {
        let read = "";
        for (let offsetLines = 0; ; ) {
          const page = slice(Buffer.from(text), { offsetLines, maxLines, maxBytes: 200 }, 7);
          read += page.text;
          offsetLines += page.lines;
          if (!page.truncated) break;
        }
        expect(read).toBe(text);
      }),
    );
  });

  it("REQ-F1 pages through any text by bytes, whatever the length of its lines, and knows the line", () => {
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 60 }),
        fc.integer({ min: 4, max: 12 }),
        fc.integer({ min: 1, max: 9 }),
        (text, maxBytes, piece) => {
          let read = "";
          for (let offsetBytes = 0; ; ) {
            const request = { offsetLines: 0, offsetBytes, maxLines: 100, maxBytes };
            const page = slice(Buffer.from(text), request, piece);
            expect(page.firstLine).toBe(read.split("\n").length - 1);
            read += page.text;
            offsetBytes = page.endByte;
            if (!page.truncated) break;
          }
          expect(read).toBe(text);
        },
      ),
      { numRuns: rounds(400, 2000) },
    );
  });

  it("FAIL-A14 holds the bound on bytes for arbitrary bytes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        small,
        fc.integer({ min: 1, max: 9 }),
        (bytes, given, piece) => {
          const result = slice(Buffer.from(bytes), given, piece);
          expect(Buffer.byteLength(result.text)).toBeLessThanOrEqual(given.maxBytes);
          expect(result.lines).toBeLessThanOrEqual(given.maxLines);
        },
      ),
      { numRuns: rounds(400, 2000) },
    );
  });
});
