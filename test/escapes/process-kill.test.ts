import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openTestApp, TEST_CALLER } from "../app.ts";
import { processesWith } from "./command-stand.ts";

test("REQ-D25 FAIL-J7 processes of the machine are not those of a command that another caller waits for", async () => {
  const app = await openTestApp({
    overrides: {
      "mcp.mode": "classic",
      "mcp.tools.run_cmd_allowlist": "sleep,cat",
      "mcp.tools.kill_foreign_processes": "true",
    },
  });
  const tag = `3.0${process.pid}`;
  const waiting = app.ask("run_cmd", { command: `sleep ${tag}` });
  while (processesWith(tag).length === 0) await sleep(10);
  await sleep(100);
  const caller = { ...TEST_CALLER, owner: "another" };
  for (const pid of processesWith(tag))
    expect(await app.ask("linux_proc_kill", { pid }, { caller })).toMatchObject({
      body: { meta: { error_code: "NOT_FOUND" } },
    });
  expect(await waiting).toMatchObject({ kind: "ok", structured: { data: { exit_code: 0 } } });
});
