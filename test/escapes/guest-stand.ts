import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import type { Language } from "../../src/sandbox/contract.ts";
import { openTestApp, type TestApp } from "../app.ts";

/** What a program of the suite must come to. */
export type Outcome =
  /** The value of its last expression. */
  | { readonly result: unknown }
  /** Its error: name and message. */
  | { readonly error: RegExp }
  /** The bound that it was ended for. */
  | { readonly ended: RegExp }
  /** Any of these: how an interpreter gives up depends on the machine. */
  | { readonly anyOf: readonly Outcome[] };

export interface HostileProgram {
  readonly title: string;
  readonly code: string;
  readonly outcome: Outcome;
}

/** In the server's environment, in a file outside the roots and in a file on the denylist. */
const SECRET = "secret-of-the-guest-suite";

interface Answer {
  readonly stdout: string;
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly ended?: string };
}

const meets = (outcome: Outcome, { result, error }: Answer): boolean => {
  if ("anyOf" in outcome)
    return outcome.anyOf.some((each) => meets(each, { stdout: "", result, error } as Answer));
  if ("result" in outcome)
    return error === undefined && JSON.stringify(result) === JSON.stringify(outcome.result);
  if (error === undefined) return false;
  return "ended" in outcome
    ? error.ended !== undefined && outcome.ended.test(error.ended)
    : error.ended === undefined && outcome.error.test(`${error.name}: ${error.message}`);
};

/** The command lines of all processes that run a guest. */
export const guestProcesses = (): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return /(quickjs|python)-main/.test(line) &&
          readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("node")
          ? [pid]
          : [];
      } catch {
        return [];
      }
    });

const BOUNDS = `
[mcp]
mode = "code_execution"
[mcp.code_execution]
program_memory_mb = 64
timeout_seconds = 5
cpu_seconds = 20
max_output_bytes = 20000
max_tool_calls = 50
max_programs = 3
`;

/** Runs all programs on one server, some at a time; each answer is looked at by a test of its own. */
export const runHostile = (language: Language, programs: readonly HostileProgram[]) => {
  const answers = new Map<string, Answer>();
  const ends: (() => Promise<void> | void)[] = [];
  let app: TestApp;
  const run = async (code: string): Promise<Answer> => {
    const answer = await app.ask("execute_code", { language, code });
    if (answer.kind !== "ok") throw new Error(`the server failed: ${JSON.stringify(answer)}`);
    return (answer.structured as { readonly data: Answer }).data;
  };
  beforeAll(async () => {
    process.env["LLMC_GUEST_SECRET"] = SECRET;
    app = await openTestApp(
      { config: BOUNDS, files: { ".env": `TOKEN=${SECRET}\n`, "a.txt": "open\n" } },
      (work) => ends.unshift(work),
    );
    await run("1");
    await Promise.all(programs.map(async ({ title, code }) => answers.set(title, await run(code))));
  }, 600_000);
  afterAll(async () => {
    delete process.env["LLMC_GUEST_SECRET"];
    for (const work of ends) await work();
  });
  return {
    app: () => app,
    run,
    check: ({ title, outcome }: HostileProgram): void => {
      const answer = answers.get(title);
      expect(answer, title).toBeDefined();
      expect(JSON.stringify(answer)).not.toContain(SECRET);
      expect(answer?.stdout.length ?? 0).toBeLessThanOrEqual(20_100);
      expect(answer !== undefined && meets(outcome, answer), JSON.stringify(answer).slice(0, 500)).toBe(true);
    },
  };
};
