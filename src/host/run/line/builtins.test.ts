import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
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
    ["pushd", "pushd DIR"],
    ["popd +1", "pushd DIR"],
    ["dirs", "pwd"],
    ["time ls", "Leave it out"],
    ["sudo ls", "Leave it out"],
    ["nohup ls", "Leave it out"],
    ["timeout 5 ls | head -1", "the argument timeout"],
    ["history", "Leave it out"],
    ["command ls", "without it"],
    ["command -V ls", "without it"],
    ["type -t ls", "Run the program"],
    ["which -a ls", "Run the program"],
    ["set -x; ls", "set -e"],
    ["set; ls", "set -e"],
    ["[[ a =~ b ]]", "[ … ]"],
    ["[[ 1 -eq 1 ]]", "[ … ]"],
    ["[[ a == a* ]]", "[ … ]"],
    ["[[ a < b ]]", "[ … ]"],
    ["unset A; ls", "Leave the variable out"],
  ])("%s is refused with a way out that is not `llmc allow`", async (command, wayOut) => {
    const app = await openTestApp();
    const answer = JSON.stringify(await app.ask("run_cmd", { command }));
    expect(answer).toContain("invalid_args");
    expect(answer).toContain(wayOut);
    expect(answer).not.toContain("llmc allow");
  });

  test.each([
    "which ls cat",
    "which ls no-such-program",
    "command -v ls",
    "command -v cd",
    "command -v no-such-program || echo none",
    "type ls; type cd; type no-such-program",
    "if_missing=1; which no-such-program >/dev/null || echo $if_missing",
    "pushd d; pwd; popd; pwd",
    "pushd d && pushd e && popd && popd && popd; pwd",
    "pushd nope; pwd",
    "set -e; ls nope; echo after",
    "set -e; ls nope || true; echo after",
    "set -e; ls nope && echo x; echo after",
    "set -e; ! true; echo after",
    "set -e; { ls nope; echo in; } || echo no; echo after",
    "set -e; { ls nope; echo in; }; echo after",
    "set -e; (ls nope; echo in); echo after",
    "(set -e; ls nope; echo in); echo after",
    "set -e; set +e; ls nope; echo after",
    "set -e; false | cat; echo after",
    "set -euo pipefail; false | cat; echo after",
    "set -o pipefail; cat nope | wc -l; echo $?",
    "set -o pipefail; cat nope | { cat; } | wc -l || echo failed",
    "set -o errexit; [ -f nope ]; echo after",
    "[[ -f a.txt ]] && echo y",
    "[[ ! -d a.txt ]] && echo y",
    "X='a  b'; [[ $X == 'a  b' ]] && echo y",
    "X=; [[ $X ]] || echo n",
    "X='*'; [[ -n $X ]] && echo y",
    "[[ {a,b} = '{a,b}' ]] && echo y",
    "[[ -z '' ]] && [[ a != b ]] && echo y",
    `X=; echo \${X:-4} \${X-4} \${Y:-5} "\${Y-a}"`,
    `F=src/a.test.ts; echo \${F##*/} \${F%/*} \${F%.ts} \${F%%.*} \${F#src/}`,
    `cd d && echo \${PWD##*/}`,
  ])("%s does what it does in bash", async (command) => {
    const app = await openTestApp({ files: { "a.txt": "x", "d/e/f": "" } });
    const { stdout, status } = spawnSync("bash", ["-c", command], {
      cwd: app.root,
      encoding: "utf8",
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: homedir() },
    });
    const answer = await app.ask("run_cmd", { command, raw: true });
    expect(answer).toMatchObject({ structured: { data: { stdout, exit_code: status } } });
  });

  test("FAIL-C6 which tells nothing about programs that are not allowed", async () => {
    const app = await openTestApp();
    for (const name of ["bash", "no-such-program"])
      expect(await app.text("run_cmd", { command: `which ${name}` })).toBe(
        `[stderr]\nwhich: ${name} is not among the allowed programs\n[exit 1]`,
      );
  });

  test("what the operator lists runs as a program", async () => {
    const app = await openTestApp({
      overrides: { "mcp.tools.run_cmd_allowlist": "nohup,ls", "mcp.tools.command_powers": "nohup:run" },
      files: { "a.txt": "" },
    });
    expect(await app.text("run_cmd", { command: "nohup ls" })).toContain("a.txt");
  });
});
