import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPlainConfig, MAX_SETTINGS, parseGitConfig, renderGitConfig } from "./config.ts";

test("REQ-D24: settings that are written are read again as they were", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
  const sub = fc.string({ unit: "grapheme" }).filter((text) => !/[\0\n]|[^\S ]|\p{Cc}/u.test(text));
  const key = fc
    .tuple(name, fc.option(sub), name)
    .map(([section, inner, last]) => [section, ...(inner === null ? [] : [inner]), last].join("."));
  const value = fc.string({ unit: "grapheme" }).filter((text) => !/[^\S \n\t]|[^\P{Cc}\n\t]/u.test(text));
  fc.assert(
    fc.property(fc.array(fc.record({ key, value })), (settings) => {
      expect(parseGitConfig(renderGitConfig(settings))).toEqual(settings);
    }),
  );
});

const keysOf = (source: string): readonly string[] | undefined =>
  parseGitConfig(source)?.map(({ key, value }) => `${key}=${value}`);

/** The settings that git itself finds in a text; undefined where it refuses it. */
const readByGit = (source: string): readonly string[] | undefined => {
  const { status, stdout } = spawnSync("git", ["config", "--file", "-", "--list", "--null"], {
    input: source,
    encoding: "utf8",
  });
  if (status !== 0) return undefined;
  const entries = stdout.split("\0").slice(0, -1);
  return entries.map((entry) => (entry.includes("\n") ? entry.replace("\n", "=") : `${entry}=true`));
};

test("REQ-D24 FAIL-J3: whatever is read, git reads the same", () => {
  const token = fc.constantFrom(
    ...["[a]", "[A.b]", '[a "s"]', "[ a]", '[a "s" ]', "\n", "\r\n", "\r", " ", "=", "b", "x", "#", ";"],
    ...['"', '""', "\\", "\\\n", "\\\n  ", "\\n", '\\"', "-", "]"],
  );
  fc.assert(
    fc.property(fc.boolean(), fc.array(token, { maxLength: 9 }), (isValue, tokens) => {
      const source = `[a]\n${isValue ? "b = " : ""}${tokens.join("")}`;
      const own = keysOf(source);
      // What is not read is refused as a whole, so only what is read must be the same.
      if (own !== undefined) expect(own).toEqual(readByGit(source));
    }),
    { numRuns: 100 },
  );
});

describe("REQ-D24: git's configuration as git reads it", () => {
  test.each([
    ["", []],
    ["[core]\n\tbare = false\n", ["core.bare=false"]],
    ["[core]\n\tbare\n\tfilemode = true\n", ["core.bare=true", "core.filemode=true"]],
    ["[CORE]\r\n\tFileMode = true\r\n", ["core.filemode=true"]],
    ['[remote "Origin"]\n\turl = a b # x\n', ["remote.Origin.url=a b"]],
    ['[filter "a\\"b"]\n\tclean = "x; # y"\n', ['filter.a"b.clean=x; # y']],
    ["[a] b = c\n", ["a.b=c"]],
    ["[alias]\n\tst = !f() { \\\n\t\tx; }; f\n", ["alias.st=!f() { \t\tx"]],
    ["# a\u00a0comment\n[a]\n b = c\n", ["a.b=c"]],
    ["; comment\n[a]\n# other\n b = 1;c\n", ["a.b=1"]],
    ["[include]\n\tpath = \\\n   x\n", ["include.path=x"]],
    ['[a]\n b = "" c  \\\n\n', ["a.b=c  "]],
    ['[a]\n b = " c"\n', ["a.b= c"]],
  ])("%j", (source, keys) => {
    expect(keysOf(source)).toEqual(keys);
  });

  test.each([
    "x = 1\n",
    "[a\n",
    "[a]\n = 1\n",
    '[a]\n b = "open\n',
    "[a]\n b c\n",
    "[a]\n b = \\q\n",
    "[a]\n b = c\u00a0\n",
    "[a]\n b = c\v\n",
    "[a]\n b = c\rd\n",
    "[ a]\n b = c\n",
    '[a "s" ]\n b = c\n',
    '[a "b\0"]\n c = d\n',
  ])("what git would not read is not read: %j", (source) => {
    expect(parseGitConfig(source)).toBeUndefined();
  });

  test.each([
    ['[core]\n\tbare = false\n[remote "o"]\n\turl = https://x/y\n\tfetch = +refs/*:refs/*\n', true],
    ["[core]\n\tfsmonitor = x\n", false],
    ["[core]\n\thooksPath = x\n", false],
    ["[include]\n\tpath = x\n", false],
    ['[filter "x"]\n\tclean = x\n', false],
    ['[remote "o"]\n\turl = ext::sh -c x\n', false],
    ['[remote "o"]\n\tuploadpack = x\n', false],
    ["[extensions]\n\tworktreeConfig = true\n", false],
  ])("plain or not: %j", (source, isPlain) => {
    expect(isPlainConfig(parseGitConfig(source) ?? [])).toBe(isPlain);
  });

  test("FAIL-J6 as many settings as people have are read in their order, and more are refused with the reason", () => {
    const lines = (count: number): string =>
      Array.from({ length: count }, (_line, at) => `[filter "f${at}"] clean =     x${" ".repeat(20)}\n`).join(
        "",
      );
    const keys = keysOf(lines(MAX_SETTINGS));
    expect(keys).toHaveLength(MAX_SETTINGS);
    expect(keys?.at(-1)).toBe(`filter.f${MAX_SETTINGS - 1}.clean=x`);
    expect(() => parseGitConfig(lines(MAX_SETTINGS + 1))).toThrow(/more than 20000 settings/);
  });
});
