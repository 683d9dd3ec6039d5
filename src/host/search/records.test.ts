import fc from "fast-check";
import { expect, it } from "vitest";
import { createNameParser, createRecordParser } from "./records.ts";

const REMARK = "[Omitted long matching line]";

interface Group {
  readonly path: string;
  readonly lines: readonly number[];
  readonly text: string;
  readonly isBinary: boolean;
}

const write = (groups: readonly Group[]): Buffer =>
  Buffer.from(
    groups
      .map(({ path, lines, text, isBinary }) => {
        const warning = isBinary ? `./${path}: WARNING: stopped searching binary file after match\n` : "";
        return `./${path}\0${lines.map((line) => `${line}:${text}\n`).join("")}${warning}`;
      })
      .join("\n"),
  );

const path = fc.stringMatching(/^[a-z0-9:\n[."]{1,12}$/);
const group = fc.record({
  path,
  lines: fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1, maxLength: 5 }),
  text: fc.constantFrom(REMARK, "", "[", "x", "7"),
  isBinary: fc.boolean(),
});

it("FAIL-B5 reads every record, wherever the pieces are cut", () => {
  fc.assert(
    fc.property(fc.array(group, { maxLength: 8 }), fc.integer({ min: 1, max: 40 }), (groups, size) => {
      const found: { path: string; lines: number[] }[] = [];
      const parse = createRecordParser({
        file: (bytes) => found.push({ path: bytes.toString(), lines: [] }),
        hit: (line) => found.at(-1)?.lines.push(line),
      });
      const all = write(groups);
      // Memory of a piece may be used again, as that of a pipe is.
      for (let at = 0; at < all.length; at += size) parse(Buffer.from(all.subarray(at, at + size)));
      expect(found).toEqual(groups.map((one) => ({ path: `./${one.path}`, lines: one.lines })));
    }),
  );
});

it("a remark on a binary input without hits is no hit", () => {
  const found: string[] = [];
  const parse = createRecordParser({ file: () => found.push("file"), hit: () => found.push("hit") });
  parse(Buffer.from('<stdin>: binary file matches (found "\\0" byte around offset 6)\n'));
  expect(found).toEqual([]);
});

it("FAIL-B5 reads names, wherever the pieces are cut", () => {
  const names = ["./a", "./two\nlines", "./ü"];
  const all = Buffer.from(names.map((name) => `${name}\0`).join(""));
  for (let size = 1; size <= all.length; size++) {
    const found: string[] = [];
    const parse = createNameParser((name) => found.push(name.toString()));
    for (let at = 0; at < all.length; at += size) parse(Buffer.from(all.subarray(at, at + size)));
    expect(found).toEqual(names);
  }
});
