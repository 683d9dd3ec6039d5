import { linkSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

test("FAIL-A4: a secret is refused by its names; a hard link with another name is outside that promise, as SECURITY says", async () => {
  const app = await openTestApp({ files: { ".env": "KEY=value\n" }, overrides: { "mcp.mode": "classic" } });
  linkSync(join(app.root, ".env"), join(app.root, "copy.env"));
  linkSync(join(app.root, ".env"), join(app.root, "notes.txt"));
  expect(await app.errorCode("read_file", { path: ".env" })).toBe("path_denied");
  expect(await app.errorCode("read_file", { path: "copy.env" })).toBe("path_denied");
  expect(await app.text("read_file", { path: "notes.txt" })).toBe("KEY=value\n");
  // No tool makes hard links, so a client cannot give a secret another name.
  expect(await app.errorCode("linux_fs_move", { source: ".env", target: "plain.txt" })).toBe("INVALID_PATH");
  expect(readFileSync(resolve(import.meta.dirname, "../../SECURITY.md"), "utf8")).toContain("hard link");
});

test.each(settings)("FAIL-J5 commands do not show a secret under a second name in $name", async (setting) => {
  await using workspace = await createWorkspace({ ".env": "the secret\n", "x/other.txt": "no secret\n" });
  linkSync(join(workspace.root, ".env"), join(workspace.root, "x/notes.txt"));
  await using commands = commandTools(setting, workspace.root, {
    allowlist: ["grep", "rg", "cat"],
    powers: [],
    denylist: ["**/.env"],
  });
  const lines = ["grep -r secret .", "rg --hidden --no-ignore secret", "cat x/notes.txt"];
  const see = async (): Promise<void> => {
    for (const line of lines) {
      const seen = await commands.use("run_cmd", line).catch(() => "");
      expect(seen, line).not.toContain("the secret");
    }
  };
  await see();
  linkSync(join(workspace.root, ".env"), join(workspace.root, "x/later.txt"));
  await see();
  expect(await commands.use("run_cmd", "grep -r secret .")).toContain("no secret");
});
