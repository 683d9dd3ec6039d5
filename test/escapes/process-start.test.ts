import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../app.ts";

test("FAIL-J1 REQ-T9 while a process is started, what it makes is looked at, and it can be listed and stopped", async () => {
  const app = await openTestApp({
    files: { "go.sh": "echo x > llmc.toml; touch made; sleep 60\n" },
    overrides: { "mcp.mode": "classic", "mcp.tools.run_cmd_allowlist": "/bin/bash" },
  });
  const started = app.ask("linux_proc_start", { command: "bash go.sh", wait_ms: 30_000 });
  const isThere = (path: string): boolean => existsSync(join(app.root, path));
  await expect.poll(() => isThere("made"), { timeout: 20_000 }).toBe(true);
  await expect.poll(() => isThere("llmc.toml"), { timeout: 15_000 }).toBe(false);
  expect(readdirSync(app.root)).toContainEqual(expect.stringMatching(/^llmc.toml.refused-/));
  const list = await app.ask("linux_proc_list");
  const { processes } = (list.kind === "ok" ? list.structured : { processes: [] }) as {
    processes: readonly { readonly proc_id: string }[];
  };
  expect(processes).toHaveLength(1);
  await app.text("linux_proc_stop", { proc_id: processes[0]?.proc_id });
  expect(await started).toMatchObject({ structured: { state: "ended", reason: "stopped" } });
}, 60_000);
