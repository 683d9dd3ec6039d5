import { describe, expect, test } from "vitest";
import { checkLine, plainArguments } from "./plain-line.ts";

describe("FAIL-C1 lines that mean nothing are refused with a way out", () => {
  test.each([
    ["", /names no program/],
    [" \t\n", /names no program/],
    ["ls a\0b", /NUL byte/],
    [`ls ${"a".repeat(32 * 1024)}`, /longer than 32768 bytes/],
    [`ls ${"ü".repeat(17 * 1024)}`, /longer than 32768 bytes/],
  ])("%#", (line, message) => {
    expect(() => checkLine(line)).toThrow(
      expect.objectContaining({
        code: "invalid_args",
        message: expect.stringMatching(message),
        hint: expect.any(String),
      }),
    );
  });
});

describe("REQ-D23 a line without special characters needs no parser", () => {
  test.each([
    [" ls  -l\tsrc/a.ts ", ["ls", "-l", "src/a.ts"]],
    ["git log --format=%h HEAD", ["git", "log", "--format=%h", "HEAD"]],
    ["FOO=1 ls", undefined],
    ["ls 'a b'", undefined],
    ["ls *.js", undefined],
    ["ls ~", undefined],
    ["ls a\nb", undefined],
    ["ls # x", undefined],
    ["ls $X", undefined],
    ["ls {a,b}", undefined],
    ["! ls", undefined],
  ])("%j", (line, argv) => {
    expect(plainArguments(line)).toEqual(argv);
  });
});
