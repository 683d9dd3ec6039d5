import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../test/rounds.ts";
import { LlmcError } from "./error.ts";
import { parseGuarded, parseGuardedBytes, parseMeasuredBytes } from "./json-guard.ts";

const refusalOf = (parse: () => unknown): LlmcError => {
  try {
    parse();
  } catch (thrown) {
    if (thrown instanceof LlmcError) return thrown;
    throw thrown;
  }
  throw new Error("it was accepted");
};

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);
const arrayOf = (length: number): string => `[${Array.from({ length }, () => 0).join(",")}]`;

const arrays = (thousands: number): string =>
  `[${Array.from({ length: thousands }, () => `[${Array(1000).fill("[]").join(",")}]`).join(",")}]`;

describe("REQ-I6 what is accepted", () => {
  test.each([
    ["null", null],
    [' {"a":[1,2,{"b":"\\u00e9\\n"}]} ', { a: [1, 2, { b: "é\n" }] }],
    ['{"a":{"k":1},"b":{"k":2}}', { a: { k: 1 }, b: { k: 2 } }],
    ['[{"k":1},{"k":2}]', [{ k: 1 }, { k: 2 }]],
    ['{"a":"a","b":"a"}', { a: "a", b: "a" }],
    ['{"a":",","b":"{[]}"}', { a: ",", b: "{[]}" }],
    ['{"\\\\":1,"\\"":2}', { "\\": 1, '"': 2 }],
    ['"\\ud83d\\ude00"', "😀"],
    ['{"constructor":1,"prototype":2,"toString":3}', { constructor: 1, prototype: 2, toString: 3 }],
    ["1e308", 1e308],
    ["1e-999", 0],
  ])("%s", (text, value) => {
    expect(parseGuarded(text)).toEqual(value);
  });

  test("depth and length up to the limits", () => {
    expect(() => parseGuarded(nested(32))).not.toThrow();
    expect(() => parseGuarded(arrayOf(10_000))).not.toThrow();
    expect(() => parseGuarded(`{${Array.from({ length: 10_000 }, (_, i) => `"k${i}":0`)}}`)).not.toThrow();
    // The limit is per array; over all there is a higher one.
    expect(() => parseGuarded(`[${arrayOf(9000)},${arrayOf(9000)}]`)).not.toThrow();
    expect(() => parseGuarded(arrays(99))).not.toThrow();
  });

  test("whatever JSON.stringify writes comes back the same", () => {
    const withoutPrototypeKey = (value: unknown): boolean => !JSON.stringify(value).includes("__proto__");
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }).filter(withoutPrototypeKey), (value) => {
        const text = JSON.stringify(value);
        expect(parseGuarded(text)).toEqual(JSON.parse(text));
        expect(parseGuardedBytes(Buffer.from(JSON.stringify(value, null, 2)))).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe("FAIL-D2 what is refused", () => {
  test.each([
    ["arrays too deep", nested(33), /deeper than 32/],
    ["objects too deep", nested(33, '{"a":', "}").replace(":}", ":1}"), /deeper than 32/],
    ["a million levels", nested(1_000_000), /deeper than 32/],
    ["an array too long", arrayOf(10_001), /more than 10000 items/],
    ["an array too long, nested", `{"a":[${arrayOf(10_001)}]}`, /more than 10000 items/],
    [
      "an object too large",
      `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":0`)}}`,
      /more than 10000 items/,
    ],
    ["too many values in all, in lists that are short enough", arrays(101), /More than 200000 commas/],
    ["a key twice", '{"k":1,"k":1}', /twice/],
    ["a key twice, escaped", '{"key":1,"k\\u0065y":2}', /twice/],
    ["a key twice, far apart", '{"k":{"k":[{"k":1}]},"x":[],"k":2}', /twice/],
    ["__proto__", '{"__proto__":{"x":1}}', /__proto__/],
    ["__proto__, escaped and nested", '[{"a":{"\\u005f\\u005fproto__":1}}]', /__proto__/],
    ["a number out of range", '{"n":1e999}', /out of range/],
    ["400 digits", "9".repeat(400), /out of range/],
    ["half a surrogate pair", '"\\ud800"', /surrogate/],
    ["half a surrogate pair in a key", '{"a\\udc00":1}', /surrogate/],
    ["an open string", '{"a":"b', /not closed/],
    ["an open string that ends with an escape", '"a\\"', /not closed/],
    ["nothing", "", /Not valid JSON/],
    ["two values", "{}{}", /Not valid JSON/],
    ["a trailing comma", "[1,]", /Not valid JSON/],
    ["a comment", "/* */ 1", /Not valid JSON/],
    ["NaN", "[NaN]", /Not valid JSON/],
    ["closers without openers", "]]}}", /Not valid JSON/],
  ])("%s", (_title, text, reason) => {
    const { code, message } = refusalOf(() => parseGuarded(text));
    expect(code).toBe("invalid_args");
    expect(message).toMatch(reason);
  });

  test.each([
    ["a lone continuation byte", [0x22, 0x80, 0x22]],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a cut character", [0x22, 0xe2, 0x82]],
    ["UTF-16", [0xff, 0xfe, 0x31, 0x00]],
  ])("bytes that are no UTF-8: %s", (_title, bytes) => {
    expect(refusalOf(() => parseGuardedBytes(Uint8Array.from(bytes))).message).toBe("Not valid UTF-8.");
  });

  test("FAIL-D10 the reason never quotes the input", () => {
    const secret = "hunter2".repeat(1000);
    for (const text of [
      `{"${secret}":1,"${secret}":2}`,
      `{"a":${secret}}`,
      `"${secret}\\ud800"`,
      `"${secret}`,
    ]) {
      const { message, details } = refusalOf(() => parseGuarded(text));
      expect(message + JSON.stringify(details)).not.toContain("hunter2");
      expect(message.length).toBeLessThan(100);
    }
  });
});

test("REQ-I6 what is parsed counts for what its values take, whatever is in its strings", () => {
  const extraBytesOf = (text: string): number => parseMeasuredBytes(Buffer.from(text)).extraBytes;
  expect(extraBytesOf(JSON.stringify({ text: "[],".repeat(10_000) }))).toBeLessThan(1000);
  for (const thousands of [1, 50]) {
    const [counted, bytes] = [extraBytesOf(arrays(thousands)), thousands * 1000 * 64];
    expect(counted).toBeGreaterThan(bytes);
    expect(counted).toBeLessThan(3 * bytes);
  }
});

describe("keys given twice", () => {
  interface Json {
    readonly text: string;
    /** Whether any object in it has a key twice. */
    readonly isTwice: boolean;
  }
  /** Few names, so that many come twice; some are written with an escape, some look like structure. */
  const name = fc.constantFrom('"a"', '"\\u0061"', '"b"', '":"', '"\\",\\":{"', '""', '"constructor"');
  const { value } = fc.letrec<{ value: Json; array: Json; object: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc
        .constantFrom("1", "null", '":"', '"{\\"a\\":1,\\"a\\":1}"', "[]", "{}")
        .map((text) => ({ text, isTwice: false })),
      tie("array"),
      tie("object"),
    ),
    array: fc.array(tie("value"), { maxLength: 3 }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(" , ")}]`,
      isTwice: items.some(({ isTwice }) => isTwice),
    })),
    object: fc.array(fc.tuple(name, tie("value")), { maxLength: 4 }).map((pairs) => ({
      text: `{${pairs.map(([key, { text }]) => `${key} : ${text}`).join(",")}}`,
      isTwice:
        new Set(pairs.map(([key]) => JSON.parse(key))).size < pairs.length ||
        pairs.some(([, { isTwice }]) => isTwice),
    })),
  }));

  test("are found wherever they are, and nothing else is taken for them", () => {
    let found = 0;
    fc.assert(
      fc.property(value, ({ text, isTwice }) => {
        if (isTwice) {
          found++;
          expect(refusalOf(() => parseGuarded(text)).message).toMatch(/twice/);
        } else expect(parseGuarded(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: rounds(400, 2000) },
    );
    expect(found).toBeGreaterThan(rounds(40, 100));
  });
});

describe("any text at all", () => {
  /** Close to JSON, so that many of them get past the first character. */
  const nearJson = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0d8 1e9-ntf\n') }),
    fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, insert]) => {
      const cut = at % (json.length + 1);
      return json.slice(0, cut) + insert + json.slice(cut);
    }),
  );

  test("is parsed as JSON.parse does, or refused with invalid_args", () => {
    fc.assert(
      fc.property(nearJson, (text) => {
        let value: unknown;
        try {
          value = parseGuarded(text);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(LlmcError);
          return;
        }
        expect(value).toEqual(JSON.parse(text));
      }),
      { numRuns: rounds(400, 2000) },
    );
  });

  test("costs little: 8 MB of anything, in seconds even on a busy machine", () => {
    const size = 8_000_000;
    const texts = [
      `"${"a".repeat(size)}"`,
      `"${'\\"'.repeat(size / 2)}"`,
      `"${"\\\\".repeat(size / 2)}"`,
      "[".repeat(size),
      `[${'"",'.repeat(size / 3)}""]`,
      `{${Array.from({ length: size / 16 }, (_, i) => `"key${i}":0`).join(",")}}`,
    ];
    for (const text of texts) {
      const startedAt = performance.now();
      try {
        parseGuarded(text);
      } catch {
        // Refused is as good as parsed here.
      }
      expect(performance.now() - startedAt, text.slice(0, 20)).toBeLessThan(5000);
    }
  });
});
