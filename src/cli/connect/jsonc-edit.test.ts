import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonc, removeJsonc, setJsonc } from "./jsonc-edit.ts";

const FILE = "/etc/settings.json";
const PATH = ["servers", "llmc"] as const;
const ENTRY = { command: "/bin/llmc", args: ["serve"] };
const set = (text: string) => setJsonc(text, FILE, PATH, ENTRY);
const remove = (text: string) => removeJsonc(text, FILE, PATH);
const lines = (...parts: string[]) => `${parts.join("\n")}\n`;

const ADDED = lines(
  "{",
  '  "servers": {',
  '    "llmc": {',
  '      "command": "/bin/llmc",',
  '      "args": [',
  '        "serve"',
  "      ]",
  "    }",
  "  }",
  "}",
);

describe("adding to settings with comments (REQ-P3)", () => {
  it.each([
    ["nothing at all", "", ADDED],
    ["only comments", "// mine\n", `// mine\n${ADDED}`],
    ["only a comment without a newline", "// mine", `// mine\n${ADDED}`],
    ["an empty object", "{}\n", ADDED],
    ["an empty holder", '{\n  "servers": {}\n}\n', ADDED],
    [
      "a holder with comments only",
      '{\n  "servers": {\n    // none yet\n  }\n}\n',
      ADDED.replace('"servers": {\n', '"servers": {\n    // none yet\n'),
    ],
    [
      "one line, no spaces",
      '{"servers":{"a":{}},"b":1}',
      '{"servers":{"a":{},"llmc":{"command":"/bin/llmc","args":["serve"]}},"b":1}',
    ],
    [
      "one line, empty holder",
      '{"servers":{}}',
      '{"servers":{"llmc":{"command":"/bin/llmc","args":["serve"]}}}',
    ],
    [
      "one line, spaces",
      '{ "servers": { "a": {} } }',
      '{ "servers": { "a": {}, "llmc": { "command": "/bin/llmc", "args": [ "serve" ] } } }',
    ],
    [
      "one line, trailing comma",
      '{ "servers": { "a": {}, }, }',
      '{ "servers": { "a": {}, "llmc": { "command": "/bin/llmc", "args": [ "serve" ] }, }, }',
    ],
  ])("%s", (_title, before, after) => {
    expect(set(before)).toBe(after);
    expect(set(after)).toBe(after);
  });

  it("keeps the comment of the last member with it, and the tabs", () => {
    const before = lines("{", '\t"servers": {', '\t\t"a": {} // about a', "\t\t// the end", "\t}", "}");
    expect(set(before)).toBe(
      lines(
        "{",
        '\t"servers": {',
        '\t\t"a": {}, // about a',
        '\t\t"llmc": {',
        '\t\t\t"command": "/bin/llmc",',
        '\t\t\t"args": [',
        '\t\t\t\t"serve"',
        "\t\t\t]",
        "\t\t}",
        "\t\t// the end",
        "\t}",
        "}",
      ),
    );
  });

  it("keeps a trailing comma and Windows line ends", () => {
    const before = '{\r\n  "servers": {\r\n    "a": {}, /* x */ // y\r\n  },\r\n}\r\n';
    const after = set(before);
    expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(after).toContain('"a": {}, /* x */ // y\r\n    "llmc": {\r\n');
    expect(after).toContain("    },\r\n  },\r\n}\r\n");
    expect(remove(after)).toBe(before);
  });

  it("replaces the value only", () => {
    const before =
      '{\n  // one\n  "servers": {\n    "llmc": { "command": "old" }, // two\n    "a": {}\n  }\n}\n';
    const after = set(before);
    expect(after).toContain("// one");
    expect(after).toContain('      ]\n    }, // two\n    "a": {}\n');
    expect(after).not.toContain("old");
  });

  it("finds keys by meaning: escapes count, comments and strings do not", () => {
    const before = '{ /* "servers": {} */ "x": "\\"servers\\": {", "s\\u0065rvers": { "ll\\u006dc": 1 } }';
    expect(set(before)).toBe(
      '{ /* "servers": {} */ "x": "\\"servers\\": {", "s\\u0065rvers": { "ll\\u006dc": { "command": "/bin/llmc", "args": [ "serve" ] } } }',
    );
  });
});

describe("refusals", () => {
  it.each([
    ["an open object", '{\n  "a": 1\n', 3],
    ["an open string", '{\n  "a": "x\n}', 2],
    ["an open comment", "{}\n/* x", 2],
    ["a missing comma", '{\n"a": 1\n"b": 2 }', 3],
    ["a comma too many", '{\n"a": 1,, "b": 2 }', 2],
    ["a comma alone", "{ , }", 1],
    ["a missing value", '{ "a": }', 1],
    ["a missing colon", '{ "a" 1 }', 1],
    ["a bare key", "{ a: 1 }", 1],
    ["single quotes", "{ 'a': 1 }", 1],
    ["NaN", '{ "a": NaN }', 1],
    ["a leading zero", '{ "a": 01 }', 1],
    ["a bad escape", '{ "a": "\\x" }', 1],
    ["a control character", '{ "a": "\t" }', 1],
    ["two values", "{}\n{}", 2],
    ["an array", "[]", 1],
    ["a word", "nothing", 1],
    ["a holder that is no object", '{\n"servers": []}', 2],
    ["a holder that is null", '{\n"servers": null}', 2],
    ["two holders", '{ "servers": {},\n"servers": {} }', 2],
    ["two entries", '{ "servers": { "llmc": 1,\n"llmc": 2 } }', 2],
    ["too deep", `{ "a": ${"[".repeat(5000)}`, 1],
  ])("%s, naming file and line", (_title, text, line) => {
    expect(() => set(text)).toThrowError(
      expect.objectContaining({
        code: "invalid_args",
        message: expect.stringContaining(`${FILE}:${line}:`),
        details: { file: FILE, line },
      }),
    );
  });

  it("never quotes the file", () => {
    expect(() => set('{ "token": "s3cret" oops }')).toThrowError(
      expect.objectContaining({ message: expect.not.stringMatching(/s3cret|token|oops/) }),
    );
  });
});

describe("removing (REQ-P3)", () => {
  it.each([
    ["the only one", ADDED, '{\n  "servers": {}\n}\n'],
    ["absent", '{ "servers": { "a": 1 } }', '{ "servers": { "a": 1 } }'],
    ["no holder", "{}", "{}"],
    ["no file content", "// x\n", "// x\n"],
    ["a holder that is no object", '{ "servers": 1 }', '{ "servers": 1 }'],
    ["the first of a line", '{"servers":{"llmc":{},"a":1}}', '{"servers":{"a":1}}'],
    ["the last of a line", '{"servers":{"a":1,"llmc":{}}}', '{"servers":{"a":1}}'],
    [
      "the middle of a line",
      '{ "servers": { "a": 1, "llmc": {}, "b": 2 } }',
      '{ "servers": { "a": 1, "b": 2 } }',
    ],
    ["with a trailing comma", '{"servers":{"a":1,"llmc":{},}}', '{"servers":{"a":1,}}'],
    ["the only one with a trailing comma", '{"servers":{ "llmc": {}, }}', '{"servers":{}}'],
    [
      "the last of several lines",
      '{"servers": {\n  "a": 1, // a\n  "llmc": {}\n}}',
      '{"servers": {\n  "a": 1 // a\n}}',
    ],
    [
      "with comments around",
      '{"servers": {\n  // before\n  "llmc": {} /* c */, // after\n  "b": 1\n}}',
      '{"servers": {\n  // before\n  /* c */ // after\n  "b": 1\n}}',
    ],
    ["commas first", '{"servers":{\n  "a": 1\n  , "llmc": {}\n}}', '{"servers":{\n  "a": 1\n  \n}}'],
  ])("%s", (_title, before, after) => {
    expect(remove(before)).toBe(after);
  });
});

/** A second reader, made differently: strips, then lets JSON.parse judge. */
const oracle = (text: string): unknown => {
  const bare = text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.startsWith('"') ? part : " ",
  );
  return JSON.parse(bare.replace(/"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g, (part) => (part === "," ? "" : part)));
};

const commentsOf = (text: string): string[] =>
  [...text.matchAll(/"(?:\\.|[^"\\])*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g)]
    .map(([part]) => part.trimEnd())
    .filter((part) => !part.startsWith('"'));

const trivia = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "", " ", "\n", "\n  ", "\r\n\t", "\t") },
  fc.constantFrom(
    '// , } "\n',
    ' // "llmc": {\n  ',
    "/* { */",
    '/* "servers": { // */ ',
    "/**/",
    "/* a\n b */\n",
    "//\r\n",
    "///* x\n",
    "/*/ */",
  ),
);

interface Layout {
  readonly trivia: readonly string[];
  readonly trailingCommas: readonly boolean[];
}

/** Writes the value with the given space and comments between all tokens, in turn. */
const writeJsonc = (root: unknown, layout: Layout): string => {
  let turn = 0;
  const gap = () => layout.trivia[turn++ % layout.trivia.length] ?? "";
  const list = (items: readonly string[], open: string, close: string) => {
    const comma = items.length > 0 && layout.trailingCommas[turn % layout.trailingCommas.length] === true;
    return `${open}${gap()}${items.join(`${gap()},${gap()}`)}${gap()}${comma ? `,${gap()}` : ""}${close}`;
  };
  const write = (value: unknown): string => {
    if (Array.isArray(value)) return list(value.map(write), "[", "]");
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    return list(
      Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}${gap()}:${gap()}${write(item)}`),
      "{",
      "}",
    );
  };
  return gap() + write(root) + gap();
};

const key = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom("llmc", "servers", "__proto__", "//", "/*"),
);
const settings = fc
  .tuple(
    fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    fc.option(fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }), { nil: undefined }),
    fc.boolean(),
  )
  .map(([others, servers, isFirst]): Record<string, unknown> => {
    const plain = Object.entries(others).filter(([name]) => name !== "servers");
    const holder: [string, unknown][] = servers === undefined ? [] : [["servers", servers]];
    const all = Object.fromEntries(isFirst ? [...holder, ...plain] : [...plain, ...holder]);
    return JSON.parse(JSON.stringify(all));
  });
const layouts = fc.record({
  trivia: fc.array(trivia, { minLength: 1, maxLength: 24 }),
  trailingCommas: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
});

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Comments inside of an old entry go with it. */
const hasEntry = (root: Record<string, unknown>): boolean =>
  isRecord(root["servers"]) && Object.hasOwn(root["servers"], "llmc");

const expected = (root: Record<string, unknown>, entry: object | undefined): unknown => {
  const servers = isRecord(root["servers"]) ? root["servers"] : {};
  const rest = Object.fromEntries(Object.entries(servers).filter(([name]) => name !== "llmc"));
  const merged = entry === undefined ? rest : Object.fromEntries([...Object.entries(rest), ["llmc", entry]]);
  const others = Object.entries(root).filter(([name]) => name !== "servers");
  return Object.fromEntries([...others, ["servers", merged]]);
};

const RUNS = { numRuns: process.env["LLMC_TEST_LONG"] === "1" ? 50_000 : 400 };

describe("any settings, any layout", () => {
  it("reads what was written", () => {
    fc.assert(
      fc.property(settings, layouts, (root, layout) => {
        deepStrictEqual(readJsonc(writeJsonc(root, layout), FILE), root);
      }),
      RUNS,
    );
  });

  it("adds the entry, changes no other value, keeps every comment, and is done after once", () => {
    fc.assert(
      fc.property(settings, layouts, (root, layout) => {
        const before = writeJsonc(root, layout);
        const after = set(before);
        deepStrictEqual(oracle(after), expected(root, ENTRY));
        expect(set(after)).toBe(after);
        if (!hasEntry(root)) deepStrictEqual(commentsOf(after), commentsOf(before));
      }),
      RUNS,
    );
  });

  it("removes the entry, changes no other value, and keeps every comment outside of it", () => {
    fc.assert(
      fc.property(settings, layouts, (root, layout) => {
        const before = set(writeJsonc(root, layout));
        const after = remove(before);
        deepStrictEqual(oracle(after), expected(root, undefined));
        if (!hasEntry(root)) deepStrictEqual(commentsOf(after), commentsOf(before));
        expect(remove(after)).toBe(after);
      }),
      RUNS,
    );
  });

  it("never throws anything but its own refusal", () => {
    const token = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"servers"',
      '"llmc"',
      "1",
      "//",
      "/*",
      "*/",
      "\n",
      "\\",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 14 }), (tokens) => {
        try {
          oracle(set(tokens.join("")));
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_args" });
        }
      }),
      RUNS,
    );
  });
});
