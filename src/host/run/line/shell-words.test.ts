import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../../../../test/app.ts";

describe("REQ-D23: words that only a shell knows", () => {
  test.each([
    "exit 3",
    "exit",
    "exit 256",
    "exit -1",
    "exit x; echo after",
    "exit 1 2; echo after",
    "ls missing || exit; echo after",
    "ls && exit 0; echo after",
    "ls missing || exit 4; echo after",
    "(exit 5); echo after",
    "{ exit 6; }; echo after",
    "! exit 7",
    "exit 8 | cat; echo after",
    "false && exit 9; echo after",
    "# only a comment",
    "# one\n\n # another",
  ])("%s ends what it ends in bash", async (command) => {
    const app = await openTestApp();
    const { stdout, status } = spawnSync("bash", ["-c", command], { cwd: app.root, encoding: "utf8" });
    const answer = await app.ask("run_cmd", { command, raw: true });
    expect(answer).toMatchObject({ structured: { data: { stdout, exit_code: status } } });
  });

  test.each([
    ["pushd lib", "Use cd"],
    ["popd", "Use cd"],
    ["time ls", "Leave it out"],
    ["sudo ls", "Leave it out"],
    ["nohup ls", "Leave it out"],
    ["command -v node", "--version"],
    ["type node", "--version"],
    ["which node", "--version"],
    ["set -e; ls", "&&"],
    ["unset A; ls", "Leave the variable out"],
  ])("%s is refused with a way out that is not `llmc allow`", async (command, wayOut) => {
    const app = await openTestApp();
    const answer = JSON.stringify(await app.ask("run_cmd", { command }));
    expect(answer).toContain("invalid_args");
    expect(answer).toContain(wayOut);
    expect(answer).not.toContain("llmc allow");
  });

  test("what the operator lists runs as a program", async () => {
    const app = await openTestApp({
      overrides: { "mcp.tools.run_cmd_allowlist": "nohup,ls", "mcp.tools.command_powers": "nohup:run" },
      files: { "a.txt": "" },
    });
    expect(await app.text("run_cmd", { command: "nohup ls" })).toContain("a.txt");
  });
});
