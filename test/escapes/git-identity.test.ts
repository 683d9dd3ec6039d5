import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

/** The worker's own home is shared with other tests. */
const { HOME } = process.env;
afterAll(() => {
  process.env["HOME"] = HOME;
});

describe.each(settings)("$name: who commits", (setting) => {
  test("REQ-D15: a name that the user sets while the server runs is used by the next commit", async () => {
    await using workspace = await createWorkspace({ "a.txt": "a\n", "b.txt": "b\n" });
    const git = (...args: readonly string[]) =>
      spawnSync("git", args, { cwd: workspace.root, encoding: "utf8" });
    git("init", "-q");
    const home = tempWorkspace();
    process.env["HOME"] = home;
    await using tools = commandTools(setting, workspace.root, {
      allowlist: ["git"],
      powers: ["git:write"],
      denylist: [],
    });
    const commitAs = async (name: string, file: string): Promise<string> => {
      writeFileSync(join(home, ".gitconfig"), `[user]\n\tname = ${name}\n\temail = x@example.com\n`);
      git("add", file);
      await tools.use("run_cmd", `git commit -q -m ${file}`);
      return git("log", "-1", "--format=%an %s").stdout.trim();
    };
    expect(await commitAs("First Name", "a.txt")).toBe("First Name a.txt");
    expect(await commitAs("Second Name", "b.txt")).toBe("Second Name b.txt");
  });
});
