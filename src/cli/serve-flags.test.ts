import { parseArgs } from "node:util";
import { expect, test } from "vitest";
import type { Actions } from "./actions.ts";
import { createProgram } from "./program.ts";
import { runProgram } from "./run-program.ts";
import { parseServe } from "./serve-flags.ts";

/** What the whole command line makes of the same words. */
const byProgram = async (argv: readonly string[]): Promise<unknown> => {
  let seen: unknown;
  const serve = async (options: unknown): Promise<void> => {
    seen = options;
  };
  const actions = { serve } as unknown as Actions;
  await runProgram(createProgram(actions, "0"), argv).catch(() => {});
  return seen;
};

test.each([
  [["serve", "--stdio"]],
  [["serve", "--stdio", "--root", "/x", "--config", "a.toml", "--mode", "classic"]],
  [["serve", "--http", "--port", "0", "--host", "::1", "--generate-token"]],
  [["serve", "--set", "a=1", "--set", "b=2", "--stdio"]],
  [["serve", "--root=/x y", "--stdio"]],
  [["serve"]],
])("%j means the same to both", async (argv) => {
  expect(parseServe(argv, parseArgs)).toEqual(await byProgram(argv));
});

test.each([
  [["serve", "--mode", "fancy"]],
  [["serve", "--nope"]],
  [["serve", "extra"]],
  [["serve", "--help"]],
  [["tools"]],
  [[]],
])("%j is left to the whole command line", (argv) => {
  expect(parseServe(argv, parseArgs)).toBeUndefined();
});
