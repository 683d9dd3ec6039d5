import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const RESTRICTED = '[mcp.tools]\ndenylist_globs = ["*.txt"]\n';

describe("REQ-D16 FAIL-J1 the configuration of a server whose workspace is a folder of this one", () => {
  test("is not changed, moved or removed by file tools", async () => {
    const app = await openTestApp({
      files: { "sub/llmc.toml": RESTRICTED, "other.toml": "" },
      overrides: { "mcp.mode": "classic" },
    });
    for (const [tool, args] of [
      ["linux_fs_write", { path: "sub/llmc.toml", content: "" }],
      ["linux_fs_delete", { path: "sub/llmc.toml" }],
      ["linux_fs_delete", { path: "sub", recursive: true }],
      ["linux_fs_move", { source: "sub", target: "gone" }],
      ["linux_fs_move", { source: "other.toml", target: "sub/llmc.toml" }],
    ] as const)
      expect(await app.errorCode(tool, args), JSON.stringify(args)).toBe("INVALID_PATH");
    expect(readFileSync(join(app.root, "sub/llmc.toml"), "utf8")).toBe(RESTRICTED);
  });

  test("nor is what it leads to, where it is a link", async () => {
    const app = await openTestApp({
      files: { "x/conf": RESTRICTED, "sub/x": "" },
      overrides: { "mcp.mode": "classic" },
    });
    symlinkSync("../x/conf", join(app.root, "sub/llmc.toml"));
    expect(await app.errorCode("linux_fs_write", { path: "x/conf", content: "" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_delete", { path: "x/conf" })).toBe("INVALID_PATH");
  });

  test.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
    "nor by commands in $name",
    async (setting) => {
      await using workspace = await createWorkspace({
        "sub/llmc.toml": RESTRICTED,
        "attack.py": `
import os
def attempt(work):
    try: work()
    except OSError: pass
attempt(lambda: open("sub/llmc.toml", "w").write(""))
attempt(lambda: os.unlink("sub/llmc.toml"))
attempt(lambda: os.rename("attack.py", "sub/llmc.toml"))
attempt(lambda: os.rename("sub", "gone"))
`,
      });
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["python3"],
        powers: [],
        denylist: [],
      });
      await commands.use("run_cmd", "python3 attack.py");
      expect(readFileSync(join(workspace.root, "sub/llmc.toml"), "utf8")).toBe(RESTRICTED);
    },
  );
});
