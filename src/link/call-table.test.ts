import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCallTable } from "./call-table.ts";

const asked = { generation: 1, front: "a", work: "read", isRepeatable: false } as const;

test("REQ-I5 a cancelled request tells its earlier rounds, which may have left something that waits for an answer", async () => {
  const table = createCallTable({ generation: 1, maxEntries: 10, maxResultChars: 1000 });
  const signals: AbortSignal[] = [];
  const begin = (n: number, round: number): void => {
    const run = async (signal: AbortSignal): Promise<string> => {
      signals.push(signal);
      return "questions";
    };
    table.begin({ ...asked, n, round, run, refuse: () => "" }, () => {});
  };
  begin(1, 0);
  begin(1, 1);
  begin(2, 0);
  await soon();
  table.cancel(1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
});

test("FAIL-H2 an answer that five fronts got and none passed on is replaced by an error", async () => {
  const table = createCallTable({ generation: 1, maxEntries: 10, maxResultChars: 1000 });
  const got: string[] = [];
  const ask = (): void =>
    void table.begin(
      {
        ...asked,
        n: 1,
        round: 0,
        run: async () => "poison",
        refuse: ({ code }) => code,
      },
      (line) => void got.push(line),
    );
  for (let front = 0; front < 7; front++) {
    ask();
    await soon();
  }
  expect(got).toEqual([...Array(5).fill("poison"), "file_too_large", "file_too_large"]);
});

/** Two fronts, one after the other; what they ask for is answered with its own name. */
const openTwo = (maxResultChars = 1000) => {
  const table = createCallTable({ generation: 1, maxEntries: 10, maxResultChars });
  const ran: string[] = [];
  const ended: string[] = [];
  const ask = async (front: string, n: number, work: string, isRepeatable = false): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const run = async (signal: AbortSignal): Promise<string> => {
      ran.push(`${front}: ${work}`);
      if (!work.startsWith("long")) return work;
      return new Promise((done) =>
        signal.addEventListener("abort", () => {
          ended.push(work);
          done("ended");
        }),
      );
    };
    const refuse = ({ details }: { details: object }): string => JSON.stringify(details);
    table.begin({ ...asked, front, n, round: 0, work, isRepeatable, run, refuse }, resolve);
    return Promise.race([promise, soon("runs")]);
  };
  return { table, ask, ran, ended };
};

test("FAIL-H2 FAIL-H3 what a front asked for under numbers that it made up is forgotten and ended with it", async () => {
  const { table, ask, ran, ended } = openTwo();
  for (const n of [2, 3]) expect(await ask("hostile", n, "steal")).toBe("steal");
  expect(await ask("hostile", 4, "long theft")).toBe("runs");
  expect(await ask("other", 5, "read")).toBe("read");
  table.frontEnded("hostile", (n) => n === 1);
  expect(ended).toEqual(["long theft"]);
  expect(table.size()).toBe(1);
  expect(await ask("honest", 2, "write")).toBe("write");
  expect(ran).toContain("honest: write");
});

test("FAIL-H2 FAIL-H3 the answer to something else is never given for an open line", async () => {
  const { table, ask, ran } = openTwo();
  await ask("hostile", 1, "steal");
  await ask("hostile", 2, "steal");
  table.frontEnded("hostile", () => true);
  expect(await ask("honest", 1, "write")).toBe('{"outcome":"unknown"}');
  expect(ran).not.toContain("honest: write");
  expect(await ask("honest", 2, "read", true)).toBe("read");
  expect(await ask("next", 2, "read", true), "asked again, it is not done again").toBe("read");
  expect(ran.filter((one) => one.endsWith("read"))).toEqual(["honest: read"]);
});

test("FAIL-H2 a read whose answer was dropped to save memory is done again, and a write is not", async () => {
  const { ask, ran } = openTwo(10);
  for (const [n, work] of [
    [1, "read a large file"],
    [2, "write a large file"],
  ] as const) {
    expect(await ask("front", n, work, n === 1)).toBe(work);
    expect(await ask("next", n, work, n === 1)).toBe(n === 1 ? work : '{"outcome":"unknown"}');
  }
  expect(ran).toEqual(["front: read a large file", "next: read a large file", "front: write a large file"]);
});

test("FAIL-D5 what runs for a line that nobody waits for any more ends", async () => {
  const { table, ask, ended } = openTwo();
  await ask("front", 1, "long work");
  table.forget(1);
  expect(ended).toEqual(["long work"]);
  expect(table.size()).toBe(0);
});
