import { describe, expect, test } from "vitest";
import { cpuMs } from "../../../test/cpu-ms.ts";
import { literalLines } from "./literal-lines.ts";

const literalsOf = (source: string): readonly string[] =>
  literalLines(source.split("\n"))
    .join("\n")
    .split("\0")
    .map((text) => text.replace(/\s+/g, " ").trim())
    .filter((text) => text !== "");

describe("REQ-R3 what the strings of code say", () => {
  test("Python: docstrings and comments are left out, parts of one message belong together", () => {
    const source = `"""About the module."""
class Store:
    """About the class,
    in (two lines."""
    usage = """
    open a store
    """

    def put(self):
        r'''About the method.'''
        # it isn't "said" here
        raise ValueError("nothing to put "
                         f"into {self.path}")
        log("one", 'two')
`;
    expect(literalsOf(source)).toEqual(["open a store", "nothing to put into {self.path}", "one", "two"]);
  });

  test.each([
    [
      "JavaScript",
      "throw new Error(`no \nrows`); // don't\n/* \"not\n this\" */ f('a ' +\n  'b', \"c\");",
      ["no rows", "a b", "c"],
    ],
    ["a string alone in an expression", 'const usage =\n  "usage: app";', ["usage: app"]],
    [
      "Rust",
      "fn f<'a>(x: &'a str, y: &'a str) {\n  panic!(\"no rows in {}\", x)\n}",
      ["a>(x: &", "no rows in {}"],
    ],
    ["C", '#define MESSAGE "no rows"\n#include <a.h>\nputs("it\\"s"); // "no"', ["no rows", 'it\\"s']],
    ["SQL", "select 'a' -- it's\n-- 'no'\nfrom b", ["a"]],
    ["a line that goes on", 'puts("no \\\nrows");', ["no \\ rows"]],
  ])("%s", (_language, source, literals) => {
    expect(literalsOf(source)).toEqual(literals);
  });
});

describe("FAIL-F5 files that were made to be slow", () => {
  test.each([
    ["one line of escaped quotes", ["\\'".repeat(4_000_000)]],
    ["lines of escaped quotes", Array.from({ length: 4000 }, () => "\\'".repeat(1000))],
    [
      "lines of quotes behind spaces",
      Array.from({ length: 4000 }, () => " ".repeat(1000) + "''".repeat(500)),
    ],
    ["lines of one quote each", Array.from({ length: 4000 }, () => `"${"\\'".repeat(990)}`)],
  ])("%s", (_name, lines) => {
    expect(cpuMs(() => literalLines(lines))).toBeLessThan(500);
  });

  test("a line that is cut spoils none below it", () => {
    const long = `f("first", (${"x".repeat(3000)} \`a`;
    const lines = literalLines([long, 'puts("no rows")']);
    expect(lines[0]).toContain("first");
    expect(lines[1]).toContain("no rows");
    expect(literalLines(['f("one", `a', "b".repeat(3000), 'c`, "two")']).at(-1)).toMatch(/^c\0two$/);
  });

  test("an escaped quote in code opens nothing", () => {
    expect(literalsOf(`if (/\\"/.test(x)) throw new Error("no rows");`)).toEqual(["no rows"]);
  });
});
