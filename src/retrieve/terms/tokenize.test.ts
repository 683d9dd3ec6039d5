import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stem } from "./stem.ts";
import { tokenize } from "./tokenize.ts";

describe("tokenize", () => {
  const cases: readonly (readonly [text: string, terms: readonly string[]])[] = [
    ["getUserName", ["get", "user", "name", "getusername"]],
    ["get_user_name", ["get", "user", "name", "getusername"]],
    ["HTTPServer", ["http", "server", "httpserver"]],
    ["MAX_RETRIES", ["max", "retri", "maxretries"]],
    ["utf8", ["utf", "8", "utf8"]],
    ["error 404", ["error", "404"]],
    ["src/host/state-db.ts", ["src", "host", "state", "db", "ts"]],
    ["foo.bar", ["foo", "bar"]],
    ["C++", ["c"]],
    ["routing routes", ["rout", "rout"]],
    ["Café cafe\u0301", ["cafe", "cafe"]],
    ["日本語", ["日本", "本語"]],
    ["ПриветМир 한국어 हिन्दी", ["привет", "мир", "한국", "국어", "हिन्दी"]],
    ["__init__", ["init"]],
    ["", []],
    ['" * ( ) - 😀', []],
  ];
  test.each(cases)("%j", (text, terms) => {
    expect(tokenize(text)).toEqual(terms);
  });

  test("a term never holds what a query language could take for syntax: FAIL-F3", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        for (const term of tokenize(text)) expect(term).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
      }),
    );
  });

  test("a run of a megabyte costs one short term, and is not kept whole", () => {
    const terms = tokenize(`${"a".repeat(1_000_000)} end`);
    expect(terms).toHaveLength(2);
    expect(terms[0]?.length).toBeLessThanOrEqual(128);
  });
});

describe("stem: examples of Porter's paper", () => {
  test.each([
    ["caresses", "caress"],
    ["ponies", "poni"],
    ["cats", "cat"],
    ["agreed", "agre"],
    ["plastered", "plaster"],
    ["motoring", "motor"],
    ["sing", "sing"],
    ["conflated", "conflat"],
    ["hopping", "hop"],
    ["falling", "fall"],
    ["filing", "file"],
    ["happy", "happi"],
    ["relational", "relat"],
    ["vietnamization", "vietnam"],
    ["triplicate", "triplic"],
    ["electrical", "electr"],
    ["adoption", "adopt"],
    ["controlling", "control"],
    ["rate", "rate"],
    ["go", "go"],
    ["größe", "größe"],
  ])("%s is %s", (word, expected) => {
    expect(stem(word)).toBe(expected);
  });
});
