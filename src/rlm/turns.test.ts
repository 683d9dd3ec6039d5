import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { guestsOf } from "../../test/descendants.ts";
import { js, openRlmStand } from "../../test/rlm-stand.ts";

const ONE_PROGRAM = "[mcp.code_execution]\nmax_programs = 1";

test("REQ-D25 FAIL-G2: analyses of a principal take turns, and its programs do not wait behind them", async () => {
  const asked: string[] = [];
  const stand = await openRlmStand(
    {
      root: async (turn, _shown, task) => {
        asked.push(`${task} ${turn}`);
        // The other analysis had the time to begin, if it could.
        const program = await stand.ask("execute_code", { language: "javascript", code: "1 + 1" });
        return js(turn === 1 ? "print(1)" : `finish('${task} ${program.kind}')`);
      },
    },
    {
      config: ONE_PROGRAM,
      overrides: { "mcp.mode": "hybrid", "mcp.hybrid.promoted_tools": '["rlm_query"]' },
    },
  );
  const tasks = ["a", "b"];
  const results = await Promise.all(tasks.map((task) => stand.query({ task, context: "text" })));
  expect(results).toMatchObject(
    tasks.map((task) => ({ kind: "ok", structured: { data: { answer: `${task} ok` } } })),
  );
  const [first, second] = asked[0]?.startsWith("a") === true ? ["a", "b"] : ["b", "a"];
  expect(asked).toEqual([`${first} 1`, `${first} 2`, `${second} 1`, `${second} 2`]);
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

test("REQ-L5 REQ-D25: one that had no turn in all its time is told so, and has cost nothing", async () => {
  const asked: string[] = [];
  let late: Promise<unknown> | undefined;
  const stand = await openRlmStand(
    {
      root: async (_turn, _shown, task) => {
        asked.push(task);
        late ??= stand.query({ task: "late", context: "text", timeout_s: 1 });
        await late;
        return js("finish('done')");
      },
    },
    { config: ONE_PROGRAM },
  );
  expect(await stand.query({ task: "first", context: "text" })).toMatchObject({ kind: "ok" });
  expect(await late).toMatchObject({
    kind: "error",
    body: {
      error: expect.stringContaining("Other analyses ran"),
      meta: { error_code: "timeout", total_cost_usd: 0 },
    },
  });
  expect(asked).toEqual(["first"]);
});

test("REQ-D25: an analysis whose client is asked leaves its turn to others, and takes one again with the answer", async () => {
  const app = await openTestApp({
    config: `[mcp]\nmode = "classic"\n[mcp.llm]\nprices = ["sampling/client=1/1"]\n[mcp.rlm]\nroot_model = "sampling/client"\nprofile = "unrestricted"\n${ONE_PROGRAM}`,
  });
  const ask = async (task: string) => {
    const args = { task, context: "a short text", timeout_s: 60 };
    const asked = await app.ask("rlm_query", args, { canAsk: () => true });
    if (asked.kind !== "questions") throw new Error("the client was not asked");
    return { args, state: asked.state, key: Object.keys(asked.questions)[0] ?? "" };
  };
  const all = [await ask("a"), await ask("b")];
  for (const { args, state, key } of all.toReversed()) {
    const content = { type: "text", text: js(`finish('${args.task}')`) };
    const answers = { [key]: { role: "assistant", content } };
    expect(await app.ask("rlm_query", args, { canAsk: () => true, answers, state })).toMatchObject({
      kind: "ok",
      structured: { data: { answer: args.task } },
    });
  }
});
