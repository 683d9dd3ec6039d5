import { describe, expect, test } from "vitest";
import { LlmcError } from "../base/error.ts";
import { parseTe } from "./te-args.ts";

const failure = (argv: readonly string[]): LlmcError => {
  try {
    parseTe(argv);
  } catch (thrown) {
    if (thrown instanceof LlmcError) return thrown;
  }
  throw new Error(`${argv.join(" ")} was understood`);
};

describe("te's arguments", () => {
  test.each([
    [["grep", "-i", "x", "f"], false, false],
    [["node", "--version"], false, false],
    [["gh", "--json", "a"], false, false],
    [["grep", "--", "--raw", "-h"], false, false],
    [["--json", "gh", "--json", "a"], true, false],
    [["--raw", "--", "-weird", "--stats"], false, true],
    [["--json", "--raw", "te", "--handle", "x"], true, true],
  ])("FAIL-C8 REQ-X3: %j: everything from the command on is the command's", (argv, json, raw) => {
    const own = argv.findIndex((arg) => !arg.startsWith("--") || arg === "--");
    const command = argv.slice(argv[own] === "--" ? own + 1 : own);
    expect(parseTe(argv)).toEqual({ kind: "run", argv: command, json, raw, who: {} });
  });

  test("REQ-X6: who runs it, in both spellings", () => {
    const who = { agent: "a b", session: "s", model: "m=1" };
    expect(parseTe(["--agent", "a b", "--session=s", "--model=m=1", "ls"])).toMatchObject({ who });
  });

  test("what runs nothing", () => {
    expect(parseTe(["--handle", "handle:h_1", "--chunk", "2"])).toEqual({
      kind: "handle",
      id: "h_1",
      chunk: 2,
      json: false,
    });
    expect(parseTe(["--list-handles", "--json"])).toEqual({ kind: "list-handles", json: true });
    expect(parseTe(["--stats"])).toEqual({ kind: "stats", json: false });
    expect(parseTe(["--help", "ls"])).toEqual({ kind: "help" });
    expect(parseTe(["--version"])).toEqual({ kind: "version" });
  });

  test.each([
    [[], /needs a command/],
    [[""], /needs a command/],
    [["--jsn", "ls"], /Did you mean --json/],
    [["--json=yes", "ls"], /no option/],
    [["--agent"], /--agent needs a value/],
    [["--handle", "h", "ls"], /stands alone/],
    [["--handle", "h", "--stats"], /stands alone/],
    [["--chunk", "1", "ls"], /goes with --handle/],
    [["--handle", "h", "--chunk", "-1"], /whole number/],
    [["--handle", "h", "--chunk", "1e9"], /whole number/],
  ])("%j is refused with a way out", (argv, message) => {
    expect(failure(argv).message).toMatch(message);
    expect(failure(argv).hint).toContain("te --help");
  });
});
