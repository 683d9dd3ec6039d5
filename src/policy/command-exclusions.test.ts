import { describe, expect, test } from "vitest";
import { gitShowsSecrets } from "./command-exclusions.ts";
import { GIT_COMMANDS } from "./command-git-table.ts";

const shows = (line: string, secrets = { untracked: false, changed: true }): boolean =>
  gitShowsSecrets(line.split(" "), secrets, (argument) => !argument.startsWith("../"));

describe("FAIL-J12: git without a sandbox, while a secret is changed", () => {
  test("whatever is not known to print no content of the work tree is refused", () => {
    const refused = [...GIT_COMMANDS.keys(), "difftool", "x"].filter((name) => shows(`${name} a`));
    expect(refused.sort()).toEqual(
      "annotate blame diff diff-files diff-index difftool grep stash x".split(" "),
    );
  });

  test.each([
    "status -v",
    "status -vv",
    "status -v -v",
    "status -sbv",
    "status --verb",
    "-C sub status --verbose",
    "stash",
    "stash show -p",
    "annotate a",
    "add -p",
    "add --patch",
    "add -i",
    "add -e",
    "reset -p",
    "checkout --patch",
    "restore -qp",
    "commit -v --dry-run",
    "commit --dry-run --verbose",
    "commit -av",
  ])("git %s is refused", (line) => {
    expect(shows(line)).toBe(true);
  });

  test.each([
    "status",
    "status -sb",
    "status --short --branch",
    "status --porcelain=v2 -z",
    "status -uno --ignored -- -v",
    "status sub",
    "stash list",
    "log -p",
    "add .",
    "commit -m verbose",
    "checkout -q main",
    "--version",
  ])("git %s prints names alone, or what git keeps", (line) => {
    expect(shows(line)).toBe(false);
  });

  test("untracked secrets are shown by what goes beyond what git tracks", () => {
    const untracked = { untracked: true, changed: false };
    expect(shows("grep --no-index x", untracked)).toBe(true);
    expect(shows("grep x", untracked)).toBe(false);
    expect(shows("status --untracked-files=all", untracked)).toBe(false);
    expect(shows("diff a ../b", untracked)).toBe(true);
    expect(shows("diff -- ../a b", untracked)).toBe(true);
    expect(shows("diff a b", untracked)).toBe(false);
    expect(shows("log ../a", untracked)).toBe(false);
  });
});
