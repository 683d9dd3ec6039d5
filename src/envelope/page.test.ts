import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { argvOf } from "../../test/argv-of.ts";
import { commandHash, commandLabel, labelOf, quoteArgv } from "./command-label.ts";
import { cutToTokens, pageTokens } from "./text/page.ts";
import { estimateTokens } from "./text/token-estimate.ts";

describe("the first page", () => {
  test("REQ-X8: is the usual one up to 80 % of the budget, then shrinks, and never below what says something", () => {
    expect(pageTokens(2000, 100_000, 100_000)).toBe(2000);
    expect(pageTokens(2000, 100_000, 20_000)).toBe(2000);
    expect(pageTokens(2000, 100_000, 10_000)).toBe(1000);
    expect(pageTokens(2000, 100_000, 500)).toBe(200);
    expect(pageTokens(100, 1000, 60)).toBe(100);
    expect(pageTokens(2000, 100_000, 49)).toBe(0);
  });

  test("is the beginning of the text, within its tokens, and valid text", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 80 }), { maxLength: 200 }),
        fc.integer({ min: 5, max: 500 }),
        (lines, maxTokens) => {
          const whole = lines.join("\n").toWellFormed();
          const { text, truncated } = cutToTokens(whole, maxTokens);
          expect(whole.startsWith(text)).toBe(true);
          expect(text.isWellFormed()).toBe(true);
          expect(truncated).toBe(text.length < whole.length);
          if (truncated) expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens * 1.5 + 5);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("what is remembered of a command line", () => {
  test.each([
    [["git", "status", "-s"], "git status"],
    [["/usr/bin/git", "log"], "git log"],
    [["git", "-c", "user.password=hunter"], "git"],
    [["docker", "--password", "hunter", "login"], "docker"],
    [["npm", "run", "build"], "npm run"],
    [["mysql", "hunter"], "mysql"],
    [["git", "https://me:hunter@host/"], "git"],
    [["./a\u001b[2Jb"], "a?[2Jb"],
  ])("REQ-X5: %j is %j: never an argument's value", (argv, label) => {
    expect(commandLabel(argv as [string])).toBe(label);
  });

  test.each([
    ["git log --author=me | head -5", "git | head"],
    ["cd 'my dir' && npm test || echo failed; ls", "cd && npm || echo; ls"],
    ["TOKEN=hunter curl -H 'x: hunter' https://hunter@host/ > hunter.txt", "curl"],
    ["(cat hunter; ls) | sort -u", "cat; ls | sort"],
    ["cat <<hunter\nhunter2\nhunter\n", "cat"],
    ["$HUNTER x | /opt/hunter/bin/tool hunter", "? | tool"],
    ["{mysql,-phunter} | cat", "? | cat"],
    ["/opt/hunter*/run* && [ -f hunter ]", "? && ["],
    ["'my hunter tool' | cat", "my?hunter?tool | cat"],
    ["a | b | c | d | e | f | g", "a | b | c | d | e | f …"],
    ["cat hunter &", "line"],
    ["cat 'hunter", "line"],
    ["TOKEN=hunter", "line"],
    ["> hunter", "line"],
    ["git status", "git status"],
  ])("REQ-X5: the line %j is %j: its programs, never their arguments", (line, label) => {
    expect(labelOf(line)).toBe(label);
  });

  test("equal lines have equal marks, others others", () => {
    expect(commandHash(["a", "b c"])).toBe(commandHash(["a", "b c"]));
    expect(commandHash(["a", "b c"])).not.toBe(commandHash(["a", "b", "c"]));
  });

  test("FAIL-C1 argv that were put into a line read back as the same argv", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 20 }), { minLength: 1, maxLength: 5 }),
        async (argv) => {
          fc.pre(argv[0] !== "" && argv.every((arg) => !/[\0\n\r]/.test(arg)));
          expect(await argvOf(quoteArgv(argv))).toEqual(argv);
        },
      ),
    );
  });
});
