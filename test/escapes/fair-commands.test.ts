import { expect, test } from "vitest";
import { openTestApp, TEST_CALLER } from "../app.ts";

/** More than may run and wait on any machine, so that at least one is refused. */
const FLOOD = 70;

const CONFIG = `[mcp]
max_concurrent_requests = 200
[mcp.tools]
run_cmd_allowlist = ["sleep", "ls"]
`;

test("FAIL-D11 commands of one principal, however many and long, never keep those of another from starting", async () => {
  const app = await openTestApp({ config: CONFIG });
  const run = (principal: string, command: string, signal?: AbortSignal) =>
    app.ask("run_cmd", { command }, { caller: { ...TEST_CALLER, principal }, signal });
  const stop = new AbortController();
  const flood = Array.from({ length: FLOOD }, () => run("greedy", "sleep 50", stop.signal));
  // Only those that find every place taken are answered.
  const first = await Promise.race(flood);
  expect(first).toMatchObject({ kind: "error", body: { meta: { error_code: "busy" } } });
  for (const principal of ["modest", "third", "modest"])
    expect(await run(principal, "ls")).toMatchObject({ kind: "ok", structured: { data: { exit_code: 0 } } });
  stop.abort();
  const codes = (await Promise.all(flood)).map((answer) => answer.kind === "error" && answer.error.code);
  expect(new Set(codes)).toEqual(new Set(["busy", "cancelled"]));
});
