import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

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

const SCRIPT = `
import os
for folder in [".llmc", "other/.llmc/deep"]:
    try: print(folder, os.listdir(folder))
    except OSError: pass
    try: open(folder + "/planted", "w").write("x")
    except OSError: pass
    try: print(open(folder + "/left.txt").read())
    except OSError: pass
`;

test.each(settings.filter(({ tier }) => tier !== "plain"))(
  "FAIL-J12 REQ-D12: a start-up link into the server's own state opens nothing of it in $name",
  async (setting) => {
    await using workspace = await createWorkspace({ "look.py": SCRIPT, "other/.llmc/deep/left.txt": MARK });
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: [],
      denylist: [],
      startup: ["**/.envrc"],
    });
    await commands.use("run_cmd", "python3 -c pass");
    const at = (path: string): string => join(workspace.root, path);
    mkdirSync(at(".llmc"), { recursive: true });
    writeFileSync(at(".llmc/left.txt"), MARK);
    mkdirSync(at("a"));
    symlinkSync("../.llmc/left.txt", at("a/.envrc"));
    symlinkSync("other/.llmc/deep/left.txt", at(".envrc"));
    expect(await commands.use("run_cmd", "python3 look.py")).not.toContain(MARK);
    expect(existsSync(at(".llmc/planted"))).toBe(false);
    expect(existsSync(at("other/.llmc/deep/planted"))).toBe(false);
  },
);
