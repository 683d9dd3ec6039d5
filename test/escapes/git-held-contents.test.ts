import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GIT_COMMANDS } from "../../src/policy/command-git-table.ts";
import { createWorkspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

const CHANGED = "SECRET=changed by hand\n";
const IGNORED = "SECRET=never in git\n";

/**
 * A tracked `.env` and `d/.env` with changes, an ignored `own/.env` that another branch has, a stash that has it, and a
 * patch that touches them.
 */
const project = async () => {
  const workspace = await createWorkspace({
    a: "1\n",
    ".env": "SECRET=old\n",
    "d/.env": "SECRET=old\n",
    "d/b": "1\n",
  });
  const { root } = workspace;
  const put = (path: string, text: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  git(root, "init", "-q", "-b", "main");
  git(root, "add", "-f", ".");
  git(root, "commit", "-qm", "one");
  git(root, "checkout", "-qb", "other");
  put("own/.env", "SECRET=theirs\n");
  put("a", "2\n");
  git(root, "add", "-f", "own/.env", "a");
  git(root, "commit", "-qm", "two");
  git(root, "checkout", "-q", "main");
  put(".gitignore", "own/.env\n");
  git(root, "add", ".gitignore");
  git(root, "commit", "-qm", "three");
  put("a", "3\n");
  put("d/b", "3\n");
  put(".env", CHANGED);
  put("d/.env", CHANGED);
  put("own/.env", IGNORED);
  writeFileSync(
    join(root, "p.diff"),
    "--- a/own/.env\n+++ b/own/.env\n@@ -1 +1 @@\n-SECRET=never in git\n+SECRET=patched\n",
  );
  return workspace;
};

const LINES = [
  "restore .",
  "restore d",
  "restore -s HEAD~1 -SW .",
  "restore --pathspec-from-file=list",
  "checkout .",
  "checkout -f",
  "checkout --force",
  "checkout -- .",
  "checkout HEAD -- d",
  "checkout -f other",
  "checkout other -- .",
  "checkout -q other",
  "switch -f main",
  "switch --discard-changes other",
  "reset --hard",
  "reset --hard other",
  "clean -ff",
  "clean -ffdx",
  "stash",
  "stash -u",
  "stash -a",
  "rm -rf .",
  "rm -rf d",
  "mv d e",
  "merge other",
  "cherry-pick other",
  "rebase other",
  "read-tree -u --reset other",
  "read-tree -u --reset HEAD",
  "apply p.diff",
  "sparse-checkout set --no-cone a",
  "add -A",
  "commit -am x",
];

describe.each(settings.filter(({ tier }) => tier === "plain"))(
  "REQ-D16 FAIL-J4 FAIL-J12 in $name",
  (setting) => {
    test.each(LINES)("git %s loses nothing of what is withheld", async (line) => {
      await using workspace = await project();
      const { root } = workspace;
      writeFileSync(join(root, "list"), ".\n");
      await using commands = commandTools(setting, root, {
        allowlist: ["git"],
        powers: ["git:write"],
        denylist: ["**/.env"],
      });
      const answer = await commands.use("run_cmd", `git ${line}`).catch(String);
      for (const [path, text] of [
        [".env", CHANGED],
        ["d/.env", CHANGED],
        ["own/.env", IGNORED],
      ] as const)
        expect(readFileSync(join(root, path), "utf8"), `${path}: ${answer}`).toBe(text);
    });

    test("the rest is done, and what git was not kept from is put back and told", async () => {
      await using workspace = await project();
      const { root } = workspace;
      await using commands = commandTools(setting, root, {
        allowlist: ["git"],
        powers: ["git:write"],
        denylist: ["**/.env"],
      });
      expect(await commands.use("run_cmd", "git restore .")).toContain('"exit_code":0');
      expect(readFileSync(join(root, "a"), "utf8")).toBe("1\n");
      const merged = await commands.use("run_cmd", "git merge -q other");
      expect(merged).toContain("own/.env (put back as it was: git had changed or removed it");
      expect(readFileSync(join(root, "a"), "utf8")).toBe("2\n");
      expect(readFileSync(join(root, "own/.env"), "utf8")).toBe(IGNORED);
      await expect(commands.use("run_cmd", "git checkout -f")).rejects.toThrow(
        "No command changes .env, and",
      );
    });
  },
);

/** They write where an argument says, or need a network, or write no file that is there. */
const ELSEWHERE =
  "bundle clone commit-graph format-patch gc init merge-file multi-pack-index pack-objects pull repack am revert".split(
    " ",
  );

test("REQ-D16 FAIL-J13 every sub-command that may change the work tree is tried", () => {
  const writers = [...GIT_COMMANDS].filter(
    ([, { always, keepsWorkTree }]) => always?.includes("write") === true && keepsWorkTree !== true,
  );
  const tried = new Set([...LINES.map((line) => line.split(" ")[0]), ...ELSEWHERE]);
  expect(writers.map(([name]) => name).filter((name) => !tried.has(name))).toEqual([]);
});
