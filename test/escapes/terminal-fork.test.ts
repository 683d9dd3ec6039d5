import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

describe.each(sandboxes)("FAIL-J3 REQ-D24 git at a terminal in $name", (setting) => {
  test("a program that may start no other gets no terminal, which would start it", async () => {
    await using workspace = await createWorkspace({ "a.txt": "a\n" });
    execFileSync("git", ["init", "-q", workspace.root]);
    appendFileSync(join(workspace.root, ".git/config"), "[unknown]\n\tprogram = touch fired\n");
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["git"],
      powers: [],
      denylist: [],
    });
    await expect(commands.use("linux_proc_start with a terminal", "git status")).rejects.toThrow(
      "cannot have a terminal",
    );
    expect(await commands.use("linux_proc_start", "git status")).toContain("a.txt");
    expect(existsSync(join(workspace.root, "fired"))).toBe(false);
  });
});
