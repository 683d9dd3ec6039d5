import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Actions } from "../../src/cli/actions.ts";
import { completionScript, SHELLS } from "../../src/cli/completion.ts";
import { createProgram } from "../../src/cli/program.ts";
import { tempWorkspace } from "../app.ts";

const program = createProgram({} as Actions, "0");

const hasShell = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

/** What bash offers behind these words. */
const offered = (...typed: readonly string[]): readonly string[] => {
  const words = ["llmc", ...typed].map((word) => `'${word}'`).join(" ");
  const { stdout, stderr } = spawnSync(
    "bash",
    [
      "--norc",
      "-c",
      `${completionScript(program, "bash")}
COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; COMPREPLY=(); _llmc; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ],
    { encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
};

describe("completion, made from the commands", () => {
  test("bash: commands, subcommands, options, and their values", () => {
    const commands = program.commands.map((command) => command.name());
    expect(offered("")).toEqual(expect.arrayContaining(commands));
    expect(offered("con")).toEqual(["connect", "config"]);
    expect(offered("config", "")).toEqual(expect.arrayContaining(["show", "validate", "explain"]));
    expect(offered("config", "show", "--o")).toEqual(["--origin"]);
    expect(offered("connect", "c")).toEqual(["claude-code", "claude-desktop", "cursor", "codex", "cline"]);
    expect(offered("connect", "codex", "--scope", "")).toEqual(["project", "user"]);
    expect(offered("serve", "--mode", "")).toEqual(["classic", "hybrid"]);
    expect(offered("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(offered("--root", "/et")).toEqual(["/etc"]);
  });

  test.each(SHELLS)("%s: every command and every option is in the script", (shell) => {
    const script = completionScript(program, shell);
    const all = program.commands.flatMap((command) => [command, ...command.commands]);
    for (const command of all) {
      expect(script).toContain(command.name());
      for (const { long, hidden } of command.options)
        expect(script.includes(shell === "fish" ? ` -l ${long?.slice(2)} ` : (long ?? ""))).toBe(!hidden);
    }
  });

  test.each(SHELLS.filter(hasShell))("%s: the shell itself can read it", (shell) => {
    const file = join(tempWorkspace({ script: completionScript(program, shell) }), "script");
    const { stderr, status } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  });

  test.skipIf(!hasShell("fish"))("fish: what it offers", () => {
    const file = join(tempWorkspace({ script: completionScript(program, "fish") }), "script");
    const { stdout } = spawnSync(
      "fish",
      ["-c", `source ${file}; complete -C 'llmc connect --scope '; complete -C 'llmc config e'`],
      {
        encoding: "utf8",
      },
    );
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split("\t")[0]),
    ).toEqual(["project", "user", "explain"]);
  });

  test("an unknown shell is refused with those that are known", () => {
    expect(() => completionScript(program, "tcsh")).toThrow("no completion for");
  });
});
