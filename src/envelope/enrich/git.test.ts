import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { summarize, summarizeReal } from "../../../test/summarize.ts";

const repository = (): string => {
  const root = tempWorkspace({ "a.txt": "one\n", "b.txt": "b\n" });
  const git = (...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...args], {
      cwd: root,
      stdio: "pipe",
    });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "first: begin");
  for (let i = 0; i < 12; i++) {
    writeFileSync(join(root, "a.txt"), Array.from({ length: i + 2 }, (_, n) => `line ${n}\n`).join(""));
    git("commit", "-qam", `step ${i}: change a\n\nA body that explains it at length.`);
  }
  writeFileSync(join(root, "b.txt"), "changed\n");
  for (let i = 0; i < 5; i++) writeFileSync(join(root, `new-${i}.txt`), "");
  return root;
};

describe("git", () => {
  test("REQ-X4: status, log, diff, show and blame agree with git", () => {
    const root = repository();
    const real = (...args: string[]) => summarizeReal(["git", ...args], root)?.summary;
    expect(real("status")).toMatchObject({ matchCount: 6 });
    expect(real("status")?.text).toBe(
      "On branch main\nnot staged:\nM b.txt\nuntracked:\nnew-0.txt\nnew-1.txt\nnew-2.txt\nnew-3.txt\nnew-4.txt",
    );
    const log = real("log");
    expect(log?.matchCount).toBe(13);
    expect(log?.text).toMatch(/^\[13 commits, all by Ann\]\n[0-9a-f]{9} \d{4}-\d\d-\d\d step 11: change a\n/);
    expect(real("diff", "HEAD~5", "HEAD")).toMatchObject({ matchCount: 1 });
    expect(real("log", "--stat")?.text).toMatch(/\n a\.txt \d+\n/);
    const blame = real("blame", "a.txt");
    expect(blame?.matchCount).toBe(13);
    expect(blame?.text).toMatch(/^\[13 lines by \d+ commits\]\n/);
    expect(real("blame", "a.txt")?.text).toContain("13 line 12");
  });

  test("REQ-X4: --stat of one commit costs a name and a number for each file, as that of many does", () => {
    const root = repository();
    for (let i = 0; i < 40; i++) writeFileSync(join(root, `a-longer-name-${i}.txt`), "x\n".repeat(50 + i));
    execFileSync("git", ["-C", root, "add", "-A"]);
    const identity = ["-c", "user.name=Ann", "-c", "user.email=a@b"];
    execFileSync("git", ["-C", root, ...identity, "commit", "-qm", "many"]);
    const shows = [
      ["show", "--stat", "HEAD"],
      ["log", "--stat", "-1"],
      ["diff", "--stat", "HEAD~1"],
    ] as const;
    for (const args of shows) {
      const { raw = "", summary } = summarizeReal(["git", ...args], root) ?? {};
      expect(summary?.text, args.join(" ")).toMatch(/^ a-longer-name-7\.txt 57$/m);
      expect(summary?.text, args.join(" ")).toMatch(/ 46 files changed, \d+ insertions/);
      expect(summary?.text, args.join(" ")).not.toMatch(/\||\+\+/);
      expect(summary?.text.length, args.join(" ")).toBeLessThan(raw.length * 0.6);
      expect(summary?.keepsAll, args.join(" ")).toBe(true);
    }
  });

  test("a patch: what changed where first, then the hunks; a long one keeps no other away", () => {
    const big = `diff --git a/gen.txt b/gen.txt\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/gen.txt\n@@ -0,0 +1,5000 @@\n${"+generated\n".repeat(5000)}`;
    const small =
      "diff --git a/src/a.ts b/src/a.ts\nindex 1..2 100644\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n";
    const summary = summarize(
      "git diff",
      `${big}${small}diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n`,
    );
    expect(summary?.text).toMatch(
      /^\[3 files changed, \+5001 -1\]\ngen\.txt \(new\) \+5000 -0\nsrc\/a\.ts \+1 -1\nx\.png \(binary\) \+0 -0\n/,
    );
    expect(summary?.text).toContain("--- src/a.ts\n@@ -1,2 +1,2 @@\n-old\n+new\n same");
    expect(summary).toMatchObject({ matchCount: 3, truncated: true });
  });

  test("options before the sub-command, short status, and sub-commands that are not known", () => {
    const short = `## main\n${" M src/some/long/path.ts\n".repeat(30)}?? x\n`;
    expect(summarize("git -C /x --no-pager status --short", short)).toMatchObject({ matchCount: 31 });
    expect(summarize("git branch", "* main\n")).toBeUndefined();
    expect(summarize("git show HEAD:a.txt", "text\n")).toBeUndefined();
  });
});
