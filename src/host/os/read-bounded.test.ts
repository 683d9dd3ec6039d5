import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readBounded } from "./read-bounded.ts";

const streamOf = (...parts: readonly Buffer[]): Readable => Readable.from(parts);

test("a text that comes in pieces is whole, wherever they are cut, and without its byte order mark", async () => {
  const bytes = Buffer.from("\ufeffa line \u2013 \u0434\u0430 \u{1f40e}\n");
  const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  expect(await readBounded(streamOf(...pieces), 1000)).toBe("a line \u2013 \u0434\u0430 \u{1f40e}\n");
  expect(await readBounded(streamOf(), 10)).toBe("");
});

test("FAIL-G1: no more than the bound is read, and what has just as many bytes is", async () => {
  expect(await readBounded(streamOf(Buffer.from("12345"), Buffer.from("67890")), 10)).toBe("1234567890");
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(65_536, "x");
    })(),
  );
  expect(await readBounded(endless, 1_000_000)).toBeUndefined();
  expect(endless.destroyed).toBe(true);
});
