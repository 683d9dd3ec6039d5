import { setImmediate as soon } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Guest, ProgramResult, Runner } from "./contract.ts";
import { createProgramQueue } from "./pool.ts";
import { createPrograms, type ProgramOwner, type RunningProgram } from "./programs.ts";

const NOTHING: ProgramResult = {
  output: "",
  outputCut: false,
  result: undefined,
  error: undefined,
  calls: [],
  files: [],
  filesCut: false,
  durationMs: 0,
};

/** A guest whose program ends when a call that it makes has ended; `endless` never does. */
const fakeGuest = (): Guest => {
  let isAlive = true;
  return {
    isAlive: () => isAlive,
    run: ({ code }, callTool, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (code === "endless") return;
        // As the messages of a process, it comes later than whoever started the program goes on.
        setImmediate(() => void callTool("x", "{}", signal).then(() => resolve(NOTHING), reject));
      }),
    pause: () => {},
    resume: () => {},
    kill: async () => {
      isAlive = false;
    },
  };
};

const runner: Runner = { name: "fake", languages: ["javascript"], start: async () => fakeGuest() };
const never = new AbortController().signal;

const openPrograms = () => {
  let ids = 0;
  const programs = createPrograms({
    queue: createProgramQueue(() => ({ maxPrograms: 2 })),
    runners: () => [runner],
    newId: () => String(++ids),
    settings: () => ({
      maxPrograms: 2,
      maxSessions: 4,
      sessionMs: 60_000,
      timeoutSeconds: 10,
      maxTimeoutSeconds: 10,
      cpuSeconds: 10,
      maxOutputBytes: 100,
      maxToolCalls: 10,
      maxCallBytes: 100,
    }),
  });
  const requestOf = (code: string, session?: string) =>
    ({ language: "javascript", code, timeoutSeconds: undefined, inputs: "{}", session }) as const;
  const start = (of: ProgramOwner, code: string, session?: string): Promise<RunningProgram> =>
    programs.start(requestOf(code, session), of, never, () => {});
  const next = (program: RunningProgram, asks: boolean) =>
    program.next({
      answers: undefined,
      signal: never,
      call: async () => (asks ? { kind: "questions", questions: 1, state: 1 } : { kind: "ok", value: 1 }),
    });
  return { programs, requestOf, start, next };
};

const [a, b] = ["a", "b"].map((name) => ({ owner: name, principal: name })) as [ProgramOwner, ProgramOwner];

describe("REQ-E3 REQ-D25: programs of several principals", () => {
  test("nobody takes every turn, every session and every place of those that wait for an answer", async () => {
    const { programs, requestOf, start, next } = openPrograms();
    const askOne = async (of: ProgramOwner): Promise<string> => {
      const program = await start(of, "asks");
      expect((await next(program, true)).kind).toBe("asked");
      programs.suspend(program, of, never);
      return program.id;
    };
    const mine = await askOne(b);
    const theirs: string[] = [];
    for (let i = 0; i < 8; i++) theirs.push(await askOne(a));
    const resume = (id: string | undefined, code: string, of: ProgramOwner) => () =>
      programs.resume(id, requestOf(code), of);
    expect(resume(theirs[0], "asks", a)).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(resume(mine, "asks", a)).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(resume(mine, "other", b)).toThrow(expect.objectContaining({ code: "invalid_args" }));
    expect(resume(mine, "asks", b)().id).toBe(mine);

    const keep = async (of: ProgramOwner, session: string): Promise<boolean> => {
      const program = await start(of, "calls", session);
      await next(program, false);
      await soon();
      return program.wasKept;
    };
    await keep(b, "s");
    for (const session of ["1", "2", "3", "4", "5"]) await keep(a, session);
    expect([await keep(b, "s"), await keep(a, "5"), await keep(a, "1")]).toEqual([true, true, false]);

    await Promise.all([start(a, "endless"), start(a, "endless")]);
    let hasThird = false;
    void start(a, "endless").then(() => {
      hasThird = true;
    });
    const other = await start(b, "calls");
    expect((await next(other, false)).kind).toBe("ended");
    expect(hasThird).toBe(false);
    await programs.close();
  });

  test("all programs of an owner can be ended, also those that run", async () => {
    const { programs, start, next } = openPrograms();
    const running = await start(a, "endless");
    const ended = next(running, false);
    const other = await start(b, "endless");
    const [done] = await Promise.all([ended.catch((thrown: unknown) => thrown), programs.endAll("a")]);
    expect(done).toMatchObject({ code: "cancelled" });
    const still = await Promise.race([other.whenEnded().then(() => "ended"), soon("running")]);
    expect(still).toBe("running");
    await programs.close();
  });
});
