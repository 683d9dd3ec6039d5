import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { failureOf, type ToolResult, textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";
import { processesWith } from "./command-stand.ts";

/** Seconds that nothing else sleeps: by them ours are counted in the process list. */
const TAG = `0.3${process.pid}`;

const ARGS = [
  ...["--mode", "classic"],
  ...["--set", "mcp.tools.run_cmd_allowlist=sleep,sh"],
  ...["--set", "mcp.tools.command_powers=sh:run"],
];

const kindOf = (result: ToolResult): string =>
  result.isError === true
    ? `${failureOf(result).meta.error_code.toLowerCase()} ${failureOf(result).meta.retryable}`
    : "ok";

test("FAIL-D11 FAIL-D6 REQ-D12: of 200 commands at once some run, some wait, the rest is refused as retryable", async () => {
  await using workspace = await createWorkspace();
  const server = await workspace.start({ args: ARGS });
  // The sandbox is found out and everything is loaded.
  await server.call("run_cmd", { command: "sleep 0" });
  const ids = Array.from({ length: 200 }, (_, i) =>
    server.askTool(i % 2 === 0 ? "run_cmd" : "te_run", { command: `sleep ${TAG}` }),
  );
  const busy = { most: 0, isDone: false };
  const watching = (async () => {
    while (!busy.isDone) {
      busy.most = Math.max(busy.most, processesWith(`sleep\0${TAG}`).length);
      await sleep(20);
    }
  })();
  const health = await server.call("health");
  const answered = ids.filter((id) => server.answersTo(id).length > 0).length;
  const results = await Promise.all(ids.map((id) => server.toolResult(id, 60_000)));
  busy.isDone = true;
  await watching;
  expect(textOf(health)).toContain("ok");
  expect(answered).toBeLessThan(ids.length);
  const kinds = new Set(results.map(kindOf));
  expect([...kinds].sort()).toEqual(["busy true", "ok"]);
  expect(results.filter((result) => kindOf(result) === "ok").length).toBeGreaterThanOrEqual(40);
  // Launchers bear the same words: at most four processes for each of at most 32 commands.
  expect(busy.most).toBeGreaterThan(0);
  expect(busy.most).toBeLessThanOrEqual(4 * 32);
  expect(processesWith(TAG)).toEqual([]);
  expect(textOf(await server.call("run_cmd", { command: "sh -c 'echo after'" }))).toContain("after");
}, 90_000);
