import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../app.ts";

const MARK = "marker-of-another-caller";

test("FAIL-J12 REQ-D12: without a sandbox, the usual programs do not read the server's own state either", async () => {
  const { root, ask } = await openTestApp({
    overrides: { "mcp.tools.command_sandbox": "off", "mcp.mode": "classic" },
    files: { "a.txt": `${MARK}\n`, "other/.llmc/state.db": MARK },
  });
  const run = async (command: string): Promise<string> => JSON.stringify(await ask("run_cmd", { command }));
  await run("ls");
  mkdirSync(join(root, ".llmc"), { recursive: true });
  writeFileSync(join(root, ".llmc/left.txt"), `${MARK}\n`);
  symlinkSync(".llmc", join(root, "link"));
  symlinkSync(".llmc/left.txt", join(root, "file-link"));
  for (const command of [
    "cat .llmc/left.txt",
    "cat link/left.txt",
    "cat file-link",
    "cat other/.llmc/state.db",
    "ls .llmc",
    `grep -r ${MARK} link/`,
    `rg -uuu ${MARK} .llmc`,
    "wc -c ./other/../.llmc/left.txt",
  ])
    expect([command, await run(command)]).toEqual([command, expect.stringContaining("path_denied")]);
  for (const command of [`grep -rs ${MARK} .`, `rg -uuu ${MARK}`, `rg -uuu ${MARK} .`]) {
    const answer = await run(command);
    expect([command, answer]).toEqual([command, expect.stringContaining("a.txt")]);
    expect([command, answer]).toEqual([command, expect.not.stringMatching(/left\.txt|state\.db/)]);
  }
});
