import { expect, test } from "vitest";
import { createLineSplitter } from "./line-splitter.ts";

test.each([0, 3])(
  "of a line that is too long, its two ends of %i bytes are kept, and no more: FAIL-D9",
  (endBytes) => {
    const seen: unknown[] = [];
    const splitter = createLineSplitter(() => 10, endBytes, {
      onLine: (line) => seen.push(line.toString()),
      onOversize: (size, head, tail) => seen.push([size, head.toString(), tail.toString()]),
    });
    for (const part of ["ab\nhead", "x".repeat(20), "y".repeat(20), "end\nlast"])
      splitter.push(Buffer.from(part));
    splitter.end();
    expect(seen).toEqual(["ab", [47, "head".slice(0, endBytes), endBytes === 0 ? "" : "end"], "last"]);
  },
);
