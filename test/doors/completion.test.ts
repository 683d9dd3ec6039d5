import { spawnSync } from "node:child_process";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { Actions } from "../../src/cli/actions.ts";
import { completeArguments, completionScript, SHELLS } from "../../src/cli/completion.ts";
import { createProgram } from "../../src/cli/program.ts";
import { tempWorkspace } from "../app.ts";

const program = createProgram({} as Actions, "0");
const BIN = resolve(import.meta.dirname, "../../bin");
const env = { ...process.env, PATH: [BIN, process.env["PATH"]].join(delimiter) };

const hasShell = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

const namesOf = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.split("\t")[0] ?? "");

/** What is offered for the last argument. */
const offered = (...typed: readonly string[]): readonly string[] =>
  namesOf(completeArguments(program, typed));

const printedBy = (shell: string, args: readonly string[], script: string): readonly string[] => {
  const { stdout, stderr } = spawnSync(shell, [...args, "-c", script], { encoding: "utf8", env });
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
};

/** What bash offers for the last argument. */
const offeredByBash = (...typed: readonly string[]): readonly string[] => {
  const argv = ["llmc", ...typed].map((argument) => `'${argument}'`).join(" ");
  return printedBy(
    "bash",
    ["--norc"],
    `${completionScript("bash")}
COMP_WORDS=(${argv}); COMP_CWORD=${typed.length}; COMPREPLY=(); _llmc; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
};

/** What zsh would hand to its own functions, which work on a terminal only. */
const offeredByZsh = (...typed: readonly string[]): readonly string[] => {
  const argv = ["llmc", ...typed].map((argument) => `'${argument}'`).join(" ");
  return printedBy(
    "zsh",
    ["-f"],
    `compdef() { }; _describe() { print -rl -- "\${(@P)2}" }; _files() { print files }
${completionScript("zsh")}
words=(${argv}); CURRENT=${typed.length + 1}; _llmc`,
  );
};

describe("completion, made from the commands", () => {
  test("commands, subcommands, options, and their values", () => {
    const commands = program.commands.map((command) => command.name());
    expect(offered("")).toEqual(expect.arrayContaining(commands));
    expect(offered("con")).toEqual(["connect", "config"]);
    expect(offered("config", "")).toEqual(expect.arrayContaining(["show", "validate", "explain"]));
    expect(offered("config", "show", "--o")).toEqual(["--origin"]);
    expect(offered("connect", "c")).toEqual(["claude-code", "claude-desktop", "cursor", "codex", "cline"]);
    expect(offered("connect", "codex", "--scope", "")).toEqual(["project", "user"]);
    expect(offered("serve", "--mode", "")).toEqual(["classic", "hybrid", "code_execution"]);
    expect(offered("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(offered("serve", "--root", "/et")).toEqual([]);
  });

  test("every command and every option that is not hidden is offered, with its description", () => {
    for (const command of program.commands.flatMap((one) => [one, ...one.commands])) {
      const path = [command.parent?.name(), command.name()].filter((name) => name && name !== program.name());
      const lines = completeArguments(program, [...(path as string[]), ""]);
      for (const { long, hidden, description } of command.options)
        expect(lines.includes(`${long}\t${description}`)).toBe(!hidden);
    }
  });

  test.each(SHELLS.filter(hasShell))("%s: the shell itself can read it", (shell) => {
    const file = join(tempWorkspace({ script: completionScript(shell) }), "script");
    const { stderr, status } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  });

  test("bash: what it offers", () => {
    expect(offeredByBash("call", "rag_wh")).toEqual(["rag_where_used"]);
    expect(offeredByBash("con")).toEqual(["connect", "config"]);
    expect(offeredByBash("connect", "codex", "--scope", "")).toEqual(["project", "user"]);
    expect(offeredByBash("serve", "--stdio", "--ht")).toEqual(["--http"]);
    expect(offeredByBash("serve", "--root", "/et")).toEqual(["/etc"]);
  });

  test.skipIf(!hasShell("zsh"))("zsh: what it offers", () => {
    expect(offeredByZsh("config", "e")).toEqual([expect.stringMatching(/^explain:\w/)]);
    expect(offeredByZsh("connect", "codex", "--scope", "")).toEqual(["project", "user"]);
    expect(offeredByZsh("serve", "--root", "/et")).toEqual(["files"]);
  });

  test.skipIf(!hasShell("fish"))("fish: what it offers", () => {
    const file = join(tempWorkspace({ script: completionScript("fish") }), "script");
    const typed = ["llmc connect --scope ", "llmc config e", "llmc serve --root /et"];
    const script = `source ${file}; ${typed.map((line) => `complete -C '${line}'`).join("; ")}`;
    expect(namesOf(printedBy("fish", [], script))).toEqual(["project", "user", "explain", "/etc/"]);
  });

  test("an unknown shell is refused with those that are known", () => {
    expect(() => completionScript("tcsh")).toThrow("no completion for");
  });
});
