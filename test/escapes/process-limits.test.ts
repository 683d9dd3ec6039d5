import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";

const EAT = `
import os
kept = []
for _ in range(4):
    if os.fork() == 0:
        while len(kept) < 60: kept.append(bytearray(os.urandom(1)) * (8 * 1024 * 1024))
        os._exit(0)
for _ in range(4): os.wait()
`;

describe("FAIL-J10 REQ-T9 limits of processes that run on", () => {
  test("memory: the limit is told as the reason", async () => {
    const app = await openTestApp({
      files: { "eat.py": EAT },
      overrides: {
        "mcp.mode": "classic",
        "mcp.tools.run_cmd_allowlist": "python3",
        "mcp.tools.command_memory_mb": "256",
      },
    });
    const shown = async (tool: string, args: unknown) => {
      const result = await app.ask(tool, args);
      if (result.kind !== "ok") throw new Error(JSON.stringify(result));
      return result.structured as { proc_id: string; state: string; reason: string | null };
    };
    const { proc_id } = await shown("linux_proc_start", { command: "python3 eat.py" });
    for (let round = 0; round < 100; round++) {
      const { state, reason } = await shown("linux_proc_read", { proc_id, wait_ms: 200 });
      if (state === "ended") return expect(reason).toContain("command_memory_mb");
    }
    expect.fail("it runs on");
  });
});
