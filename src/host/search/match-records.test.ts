import { isUtf8 } from "node:buffer";
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createMatchParser } from "./match-records.ts";

/** As ripgrep writes it: text, or Base64 where it is not UTF-8. */
const jsonText = (bytes: Buffer) =>
  isUtf8(bytes) ? { text: bytes.toString() } : { bytes: bytes.toString("base64") };

interface Match {
  readonly lines: Buffer;
  readonly firstLine: number;
  readonly starts: readonly number[];
}

const write = (path: string, matches: readonly Match[]): string =>
  [
    { type: "begin", data: { path: jsonText(Buffer.from(path)) } },
    ...matches.map(({ lines, firstLine, starts }) => ({
      type: "match",
      data: {
        path: jsonText(Buffer.from(path)),
        lines: jsonText(lines),
        line_number: firstLine,
        absolute_offset: 7,
        submatches: starts.map((start) => ({
          match: jsonText(lines.subarray(start)),
          start,
          end: start + 1,
        })),
      },
    })),
    {
      type: "end",
      data: {
        path: jsonText(Buffer.from(path)),
        binary_offset: null,
        stats: { elapsed: { secs: 0, human: "0s" } },
      },
    },
    { data: { elapsed_total: { secs: 3 }, stats: { matches: 5 } }, type: "summary" },
  ]
    .map((record) => `${JSON.stringify(record)}\n`)
    .join("");

const lines = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\n", "\\n", '"', '\\"', "{", '"start":3,', "\u0001", "é", "😀", "x"),
      fc.constant(Buffer.from([0xff])),
    ),
    { minLength: 1, maxLength: 30 },
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part))));

const match = fc
  .tuple(lines, fc.integer({ min: 1, max: 9_999_999 }), fc.array(fc.nat(), { minLength: 1, maxLength: 6 }))
  .map(([text, firstLine, offsets]) => ({
    lines: text,
    firstLine,
    starts: [...new Set(offsets.map((offset) => offset % text.length))].toSorted((a, b) => a - b),
  }));

const expected = ({ lines: text, firstLine, starts }: Match): number[] => [
  ...new Set(
    starts.map((start) => firstLine + text.subarray(0, start).filter((byte) => byte === 0x0a).length),
  ),
];

it("FAIL-B3 FAIL-B5 finds the lines that matches start in, wherever the pieces are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.stringMatching(/^[a-z"\\\n{é]{1,9}$/), fc.array(match, { maxLength: 4 })), {
        maxLength: 4,
      }),
      fc.integer({ min: 1, max: 50 }),
      (files, size) => {
        const found: { path: string; hits: number[] }[] = [];
        let cut = 0;
        const parse = createMatchParser(
          {
            file: (path) => found.push({ path: path.toString(), hits: [] }),
            hit: (line) => found.at(-1)?.hits.push(line),
          },
          () => cut++,
        );
        const all = Buffer.from(files.map(([path, matches]) => write(path, matches)).join(""));
        const piece = Buffer.alloc(size);
        for (let at = 0; at < all.length; at += size) {
          // Memory of a piece is used again, as that of a pipe may be.
          const copied = all.copy(piece, 0, at, at + size);
          parse(piece.subarray(0, copied));
        }
        expect(found).toEqual(files.map(([path, matches]) => ({ path, hits: matches.flatMap(expected) })));
        expect(cut).toBe(0);
      },
    ),
  );
});

/** Feeds a record of 400 MB, with the line and the match in it, to a process that cannot hold a tenth of that. */
const LONG_LINE = `
const { createMatchParser } = await import(process.argv[1]);
const hits = [];
const parse = createMatchParser({ file: () => {}, hit: (line) => hits.push(line) }, () => hits.push("cut"));
const text = Buffer.alloc(64 * 1024, "a");
const feed = (from, to) => {
  parse(Buffer.from(from));
  for (let i = 0; i < 3200; i++) parse(text);
  parse(Buffer.from(to));
};
feed('{"type":"match","data":{"path":{"text":"./x"},"lines":{"text":"', '\\\\n"},"line_number":7,"absolute_offset":0,');
feed('"submatches":[{"match":{"text":"', '"},"start":0,"end":209715200}]}}\\n');
const { readFileSync } = await import("node:fs");
const [, peakKb] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
console.log(JSON.stringify([hits, Number(peakKb) < 200 * 1024]));
`;

it("FAIL-B3 never holds a record: a line of 200 MB costs no memory", () => {
  const module = new URL("./match-records.ts", import.meta.url).href;
  const args = ["--max-old-space-size=40", "--input-type=module", "-e", LONG_LINE, module];
  expect(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }))).toEqual([[7], true]);
});

it("FAIL-B3 says so where a record has too many lines to tell which one a match is in", () => {
  const hits: number[] = [];
  let cut = 0;
  const parse = createMatchParser({ file: () => {}, hit: (line) => hits.push(line) }, () => cut++);
  const text = Buffer.alloc(4_200_000, "\n");
  for (const record of [
    { lines: text, firstLine: 1, starts: [0, 1000, 4_000_000, 4_100_000] },
    { lines: Buffer.from("a\nb"), firstLine: 9, starts: [2] },
  ])
    parse(Buffer.from(write("a", [record])));
  expect([hits, cut]).toEqual([[1, 1001, 10], 2]);
});
