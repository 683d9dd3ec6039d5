import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Language } from "../../src/sandbox/contract.ts";
import { openTestApp, type TestApp, tempWorkspace } from "../app.ts";

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
  /** Names of the files that it leaves; left out, they are not looked at. */
  readonly files?: readonly string[];
  /** What programs before it in the same interpreter changed would change its outcome, too. */
  readonly isAlone?: true;
}

/**
 * In the server's environment, in a file on the denylist, and in a file outside the roots, whose path programs know as
 * `inputs.secret`. At `inputs.port` of this machine somebody listens.
 */
const SECRET = "secret-of-the-guest-suite";

interface Answer {
  readonly stdout: string;
  readonly files: readonly string[];
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly ended?: string };
}

const meets = (outcome: Outcome, answer: Answer): boolean => {
  const { result, error } = answer;
  if ("anyOf" in outcome) return outcome.anyOf.some((each) => meets(each, answer));
  if ("result" in outcome)
    return error === undefined && JSON.stringify(result) === JSON.stringify(outcome.result);
  if (error === undefined) return false;
  return "ended" in outcome
    ? error.ended !== undefined && outcome.ended.test(error.ended)
    : error.ended === undefined && outcome.error.test(`${error.name}: ${error.message}`);
};

/** The ids of all processes whose command line, with its arguments apart by blanks, matches. */
export const processesLike = (pattern: RegExp): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "));
      } catch {
        return false;
      }
    });

/** The ids of all processes that run a guest; of one memory, where several servers run at once. */
export const guestProcesses = (memoryBytes: number | string = ""): readonly string[] =>
  processesLike(new RegExp(`(quickjs|python)-main.*"memoryBytes":${memoryBytes}`));

/** Names and texts of all files; the server's own folder changes with every call. */
const readTree = (root: string): readonly (readonly [string, string])[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(".llmc"))
    .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), "utf8")] as const);

const PARALLEL = 3;
const BOUNDS = `
[mcp]
mode = "code_execution"
[mcp.code_execution]
program_memory_mb = 64
timeout_seconds = 20
cpu_seconds = 20
max_output_bytes = 20000
max_tool_calls = 50
max_programs = ${PARALLEL}
max_sessions = ${PARALLEL}
`;

/** Programs that may never end by themselves need no more time to show it. */
const ENDLESS_SECONDS = 1;
const isEndless = (outcome: Outcome): boolean =>
  "anyOf" in outcome ? outcome.anyOf.some(isEndless) : "ended" in outcome && outcome.ended.test("timeout");

/** Whether it may end its interpreter, or leave it without memory. */
const mayEnd = ({ outcome }: HostileProgram): boolean => "ended" in outcome || "anyOf" in outcome;

/**
 * Which programs share an interpreter, one after the other, the one that may end it last. An attack that succeeds because of
 * what others left behind would be one, too.
 */
const sharing = (programs: readonly HostileProgram[]): readonly (readonly HostileProgram[])[] => {
  const alone = programs.filter(({ isAlone }) => isAlone === true);
  const [last, first] = [programs.filter(mayEnd), programs.filter((each) => !mayEnd(each))].map((each) =>
    each.filter((program) => !alone.includes(program)),
  ) as [HostileProgram[], HostileProgram[]];
  const size = Math.ceil(first.length / last.length);
  const groups = last.map((each, at) => [...first.slice(at * size, (at + 1) * size), each]);
  return [...groups, ...alone.map((each) => [each])];
};

/** A program that sees whether anything is left of another one, and what it gives where nothing is. */
interface CleanProgram {
  readonly code: string;
  readonly result: unknown;
}

/**
 * Runs all programs on one server, some at a time; each answer is looked at by a test of its own. Where one ended its
 * interpreter, the next run in its session has a clean one.
 */
export const runHostile = (
  language: Language,
  programs: readonly HostileProgram[],
  { code: clean, result }: CleanProgram,
) => {
  const answers = new Map<string, Answer>();
  /** Runs in a session whose interpreter a program had ended. */
  let cleaned = 0;
  const ends: (() => Promise<void> | void)[] = [];
  let app: TestApp;
  let [outside, port, connections] = ["", 0, 0];
  /** What is left of programs where nothing may be: files, and connections. */
  const traces = (): unknown => [readTree(app.root), readTree(outside), connections];
  const run = async (code: string, more: object = {}): Promise<Answer> => {
    const inputs = { secret: join(outside, "secret.txt"), port };
    const answer = await app.ask("execute_code", { language, code, inputs, ...more });
    if (answer.kind !== "ok") throw new Error(`the server failed: ${JSON.stringify(answer)}`);
    const { data, meta } = answer.structured as {
      readonly data: Omit<Answer, "files">;
      readonly meta: { readonly files: readonly { readonly name: string }[] };
    };
    return { ...data, files: meta.files.map(({ name }) => name) };
  };
  beforeAll(async () => {
    process.env["LLMC_GUEST_SECRET"] = SECRET;
    outside = tempWorkspace({ "secret.txt": SECRET }, (work) => ends.unshift(work));
    const server = createServer(() => connections++).listen(0, "127.0.0.1");
    ends.push(() => void server.close());
    await once(server, "listening");
    ({ port } = server.address() as { readonly port: number });
    app = await openTestApp(
      { config: BOUNDS, files: { ".env": `TOKEN=${SECRET}\n`, "a.txt": "open\n" } },
      (work) => ends.unshift(work),
    );
    await run("1");
    const before = JSON.stringify(traces());
    const groups = sharing(programs).entries();
    const runGroups = async (): Promise<void> => {
      for (const [at, group] of groups) {
        const session = group.length === 1 ? {} : { session: `group ${at}` };
        for (const program of group) {
          const time = isEndless(program.outcome) ? { timeout_s: ENDLESS_SECONDS } : {};
          const answer = await run(program.code, { ...session, ...time });
          answers.set(program.title, answer);
          expect(JSON.stringify(traces()), program.title).toBe(before);
          if (answer.error?.ended === undefined || !("session" in session)) continue;
          expect(await run(clean, session), `after ${program.title}`).toMatchObject({ result });
          cleaned++;
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, runGroups));
  }, 600_000);
  afterAll(async () => {
    delete process.env["LLMC_GUEST_SECRET"];
    for (const work of ends) await work();
  });
  return {
    app: () => app,
    run,
    cleaned: () => cleaned,
    check: ({ title, outcome, files }: HostileProgram): void => {
      const answer = answers.get(title);
      expect(answer, title).toBeDefined();
      expect(JSON.stringify(answer)).not.toContain(SECRET);
      expect(answer?.stdout.length ?? 0).toBeLessThanOrEqual(20_100);
      if (files !== undefined) expect(answer?.files).toEqual(files);
      expect(answer !== undefined && meets(outcome, answer), JSON.stringify(answer).slice(0, 500)).toBe(true);
    },
  };
};
