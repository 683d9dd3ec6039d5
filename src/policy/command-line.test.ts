import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommandLine, renderCommandLine } from "./command-line.ts";

describe("FAIL-C1 REQ-X1 what a shell would act on is a letter", () => {
  it.each<[line: string, argv: readonly string[]]>([
    ["ls; id", ["ls;", "id"]],
    ["ls ;id", ["ls", ";id"]],
    ["ls && id", ["ls", "&&", "id"]],
    ["ls || id", ["ls", "||", "id"]],
    ["ls & id", ["ls", "&", "id"]],
    ["ls | sh", ["ls", "|", "sh"]],
    ["ls|sh", ["ls|sh"]],
    ["ls `id`", ["ls", "`id`"]],
    ["ls $(id)", ["ls", "$(id)"]],
    ["ls $( id )", ["ls", "$(", "id", ")"]],
    ['ls "$(id)"', ["ls", "$(id)"]],
    ["ls $HOME $'x'", ["ls", "$HOME", "$x"]],
    ["ls\nid", ["ls\nid"]],
    ["ls x\nid", ["ls", "x\nid"]],
    ["ls x\r\nid", ["ls", "x\r\nid"]],
    ["ls > out", ["ls", ">", "out"]],
    ["ls >out 2>&1 <in", ["ls", ">out", "2>&1", "<in"]],
    ["ls <(id)", ["ls", "<(id)"]],
    ["ls * ? [a] ~ ~root {a,b}", ["ls", "*", "?", "[a]", "~", "~root", "{a,b}"]],
    ["ls # id", ["ls", "#", "id"]],
    ["X=1 ls", ["X=1", "ls"]],
    ["ls !!", ["ls", "!!"]],
  ])("%j", (line, argv) => {
    expect(parseCommandLine(line)).toEqual(argv);
  });
});

describe("quoting", () => {
  it.each<[line: string, argv: readonly string[]]>([
    ["grep 'a b' c", ["grep", "a b", "c"]],
    ['grep "a b" c', ["grep", "a b", "c"]],
    ['grep "a\\"b\\\\c\\$d\\n"', ["grep", 'a"b\\c\\$d\\n']],
    ["grep 'a\\'", ["grep", "a\\"]],
    ["grep a\\ b\\'c\\\\", ["grep", "a b'c\\"]],
    ["gr'e'\"p\" x", ["grep", "x"]],
    ["grep '' \"\" x", ["grep", "", "", "x"]],
    ["\t ls \t -l \n", ["ls", "-l"]],
    ["ls a\\ ", ["ls", "a "]],
    ["ls 'a\nb'", ["ls", "a\nb"]],
    ["ls \\\n", ["ls", "\n"]],
  ])("%j", (line, argv) => {
    expect(parseCommandLine(line)).toEqual(argv);
  });

  it("parses back whatever it renders", () => {
    const word = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom(..."'\"\\ \t\n$;|&`*~#-=ab") }),
    );
    const argv = fc
      .tuple(word, fc.array(word, { maxLength: 30 }))
      .map(([program, rest]) => [`p${program}`, ...rest]);
    fc.assert(
      fc.property(argv, (argv) => {
        fc.pre(!argv.join("").includes("\0"));
        expect(parseCommandLine(renderCommandLine(argv))).toEqual(argv);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps plain argv plain", () => {
    expect(renderCommandLine(["git", "log", "--format=%h", "a b", "it's"])).toBe(
      `git log --format=%h 'a b' 'it'\\''s'`,
    );
  });
});

describe("FAIL-C1 lines that mean nothing are refused with a way out", () => {
  it.each([
    ["", /names no program/],
    [" \t\n", /names no program/],
    ["''", /names no program/],
    ["ls 'a", /single quote/],
    ['ls "a', /double quote/],
    ['ls "a\\"', /double quote/],
    ["ls a\\", /ends in a backslash/],
    ["ls a\0b", /NUL byte/],
    [`ls ${"a".repeat(32 * 1024)}`, /longer than 32768 bytes/],
    [`ls ${"ü".repeat(17 * 1024)}`, /longer than 32768 bytes/],
    [`ls ${"a ".repeat(1000)}`, /more than 1000 arguments/],
  ])("%#", (line, message) => {
    expect(() => parseCommandLine(line)).toThrow(
      expect.objectContaining({
        code: "invalid_args",
        message: expect.stringMatching(message),
        hint: expect.any(String),
      }),
    );
  });

  it("says that there is no shell", () => {
    expect(() => parseCommandLine("echo it's | cat")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("There is no shell") }),
    );
  });

  it("takes little time for blanks without end", () => {
    const start = performance.now();
    expect(parseCommandLine(`ls${" ".repeat(32_000)}x`)).toEqual(["ls", "x"]);
    expect(performance.now() - start).toBeLessThan(200);
  });
});
