import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { createCallTable } from "./call-table.ts";

test("REQ-I5 a cancelled request tells its earlier rounds, which may have left something that waits for an answer", async () => {
  const table = createCallTable({ generation: 1, maxEntries: 10, maxResultBytes: 1000 });
  const signals: AbortSignal[] = [];
  const begin = (n: number, round: number): void => {
    const run = async (signal: AbortSignal): Promise<string> => {
      signals.push(signal);
      return "questions";
    };
    table.begin({ n, round, generation: 1, isRepeatable: false, run, refuse: () => "" }, () => {});
  };
  begin(1, 0);
  begin(1, 1);
  begin(2, 0);
  await soon();
  table.cancel(1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
});

test("FAIL-H2 an answer that two fronts got and none passed on is replaced by an error", async () => {
  const table = createCallTable({ generation: 1, maxEntries: 10, maxResultBytes: 1000 });
  const got: string[] = [];
  const ask = (): void =>
    void table.begin(
      {
        n: 1,
        round: 0,
        generation: 1,
        isRepeatable: false,
        run: async () => "poison",
        refuse: ({ code }) => code,
      },
      (line) => void got.push(line),
    );
  for (let front = 0; front < 4; front++) {
    ask();
    await soon();
  }
  expect(got).toEqual(["poison", "poison", "file_too_large", "file_too_large"]);
});
