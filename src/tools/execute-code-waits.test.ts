import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../../test/app.ts";
import { guestProcesses } from "../../test/escapes/guest-stand.ts";
import { rounds } from "../../test/rounds.ts";

const MIB = 1024 * 1024;
const PAGE_BYTES = 4096;

const run = async (app: TestApp, args: object, origin = {}): Promise<unknown> => {
  const answer = await app.ask("execute_code", { language: "javascript", ...args }, origin);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return (answer.structured as { readonly data: { readonly result: unknown } }).data.result;
};

test("REQ-D9 REQ-T5: a program that cannot start at once says what it waits for", async () => {
  const app = await openTestApp({ overrides: { "mcp.code_execution.max_programs": "1" } });
  const waitsOf = async (code: string): Promise<readonly string[]> => {
    const messages: string[] = [];
    await run(
      app,
      { code },
      { progress: async (_done: number, _all: unknown, what: string) => messages.push(what) },
    );
    return messages;
  };
  const [first, second] = await Promise.all([waitsOf("1"), waitsOf("2")]);
  expect(first).toEqual(["starting the interpreter of JavaScript"]);
  expect(second[0]).toContain("waiting until other programs have ended");
  await sleep(2000);
  expect(await waitsOf("3")).toEqual([]);
});

const residentBytes = (pid: string): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
};

/** An unusual size, by which the processes of this test are known. */
const PROGRAM_MB = 61;
const PROGRAMS = 2;
/** One for somebody else is never taken here; one spare waits, and one that was ended may still be there. */
const MAX_PROCESSES = PROGRAMS + 2;

describe("REQ-E3: many programs at once wait for their turn within the bound on memory", () => {
  test.each([
    // What the interpreter takes: as the description of program_memory_mb says.
    {
      language: "javascript",
      count: 100,
      code: "new Array(2e6).fill(7).length",
      result: 2e6,
      ownMb: 0,
      aroundMb: 60,
    },
    {
      language: "python",
      count: rounds(12, 100),
      code: "len(bytearray(2 * 10**7))",
      result: 2e7,
      ownMb: 64,
      aroundMb: 200,
    },
  ])(
    "$count in $language",
    async ({ language, count, code, result, ownMb, aroundMb }) => {
      const app = await openTestApp({
        overrides: {
          "mcp.code_execution.max_programs": String(PROGRAMS),
          "mcp.code_execution.program_memory_mb": String(PROGRAM_MB),
        },
      });
      const own = () => guestProcesses((PROGRAM_MB + ownMb) * MIB);
      let [processes, peakBytes] = [0, 0];
      const watch = setInterval(() => {
        const pids = own();
        processes = Math.max(processes, pids.length);
        peakBytes = Math.max(
          peakBytes,
          pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
        );
      }, 50);
      const results = await Promise.all(
        Array.from({ length: count }, () => run(app, { language, code })),
      ).finally(() => clearInterval(watch));
      expect(results).toEqual(Array.from({ length: count }, () => result));
      expect(processes).toBeGreaterThanOrEqual(PROGRAMS);
      expect(processes).toBeLessThanOrEqual(MAX_PROCESSES);
      expect(peakBytes).toBeGreaterThan(50 * MIB);
      expect(peakBytes / MIB).toBeLessThan(MAX_PROCESSES * (PROGRAM_MB + aroundMb));
      await app.close();
      await expect.poll(() => own().length).toBe(0);
    },
    240_000,
  );
});
