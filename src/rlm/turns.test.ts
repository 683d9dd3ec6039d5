import { expect, test } from "vitest";
import { guestsOf } from "../../test/descendants.ts";
import { js, openRlmStand } from "../../test/rlm-stand.ts";

const ONE_PROGRAM = "[mcp.code_execution]\nmax_programs = 1";

test("REQ-D25 FAIL-G2: analyses take turns with each other and with the programs of their principal", async () => {
  const asked: string[] = [];
  const waits: string[] = [];
  const { promise: isWaiting, resolve: waited } = Promise.withResolvers<void>();
  let program: Promise<unknown> | undefined;
  const stand = await openRlmStand(
    {
      root: async (turn, _shown, task) => {
        asked.push(`${task} ${turn}`);
        program ??= stand.ask(
          "execute_code",
          { language: "javascript", code: "1 + 1" },
          {
            progress: async (_done, _total, message = "") => {
              waits.push(message);
              waited();
            },
          },
        );
        await Promise.race([isWaiting, program]);
        return js(turn === 1 ? "print(1)" : `finish('${task}')`);
      },
    },
    {
      config: ONE_PROGRAM,
      overrides: { "mcp.mode": "hybrid", "mcp.hybrid.promoted_tools": '["rlm_query"]' },
    },
  );
  const tasks = ["a", "b"];
  const results = await Promise.all(tasks.map((task) => stand.query({ task, context: "text" })));
  expect(results.map(({ kind }) => kind)).toEqual(["ok", "ok"]);
  expect(await program).toMatchObject({ kind: "ok" });
  expect(waits[0]).toContain("waiting until other programs have ended");
  // The second asked its model when the first had ended.
  const [first = ""] = asked;
  const [one, other] = first.startsWith("a") ? ["a", "b"] : ["b", "a"];
  expect(asked).toEqual([`${one} 1`, `${one} 2`, `${other} 1`, `${other} 2`]);
});

test("REQ-L4 REQ-D25 FAIL-G2: analyses inside one go on without another turn, one at a time in each depth", async () => {
  const stand = await openRlmStand(
    {
      root: (_turn, _shown, task) =>
        js(
          task === "leaf"
            ? "finish('x')"
            : `const found = await Promise.all([1, 2, 3].map(() => rlm('${task === "branch" ? "leaf" : "branch"}', {start: 0, end: 2}))); finish(found.join(''))`,
        ),
    },
    { config: ONE_PROGRAM, rlm: "max_depth = 2" },
  );
  const events: string[] = [];
  const result = await stand.query(
    { task: "root", context: "text" },
    { progress: async (_done, _total, message = "") => void events.push(message) },
  );
  expect(result.kind === "ok" && result.structured).toMatchObject({ data: { answer: "x".repeat(9) } });
  const alive = [0, 0, 0];
  let begun = 0;
  for (const event of events) {
    const [, id, kind] = / (0\.[\d.]+) (child|end) /.exec(event) ?? [];
    const depth = (id?.split(".").length ?? 1) - 1;
    if (kind === "child") begun++;
    if (kind !== undefined) alive[depth] = (alive[depth] ?? 0) + (kind === "child" ? 1 : -1);
    expect(Math.max(...alive)).toBeLessThanOrEqual(1);
  }
  expect(begun).toBe(12);
  expect(guestsOf(process.pid)).toEqual([]);
});
