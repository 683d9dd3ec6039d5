import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel, sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

/** A version manager as users have it: an interpreter and a script that starts it by name. */
const makeHome = async () => {
  const home = await realpath(await mkdtemp(join(tmpdir(), "llmc-home-")));
  const chain = join(home, ".tools/versions/1.2");
  await mkdir(join(chain, "bin"), { recursive: true });
  await mkdir(join(chain, "lib"));
  await symlink("/bin/cat", join(chain, "bin/mycat"));
  await writeFile(join(chain, "lib/data.txt"), "from the tool chain\n");
  await writeFile(join(chain, "api-token.txt"), "withheld-content\n");
  await writeFile(join(home, "private.txt"), "private-content\n");
  return { home, chain, [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }) };
};

const DENYLIST = ["**/*token*"];

describe.each(ofThisKernel)("$name: mcp.tools.command_read_paths", (setting) => {
  test("REQ-D15: an allowed script of the workspace finds its interpreter in the user's tool chain", async () => {
    await using home = await makeHome();
    await using workspace = await createWorkspace({
      "node_modules/.bin/tool": "#!/usr/bin/env mycat\nbody\n",
    });
    const script = join(workspace.root, "node_modules/.bin/tool");
    await chmod(script, 0o755);
    const options = { allowlist: [script], powers: [], denylist: DENYLIST };
    await using without = commandTools(setting, workspace.root, options);
    expect(await without.use("run_cmd", "tool")).not.toContain("body");
    await using tools = commandTools(setting, workspace.root, { ...options, readPaths: [home.chain] });
    for (const tool of ["run_cmd", "te_run", "linux_proc_start"] as const)
      expect(await tools.use(tool, "tool"), tool).toContain("body");
  });

  test("REQ-D15: commands read there, and a folder inside the roots stays writable", async () => {
    await using home = await makeHome();
    await using workspace = await createWorkspace({ "sub/a.txt": "a\n" });
    await using tools = commandTools(setting, workspace.root, {
      allowlist: ["cat", "touch", "ls"],
      powers: [],
      denylist: DENYLIST,
      readPaths: [home.chain, join(workspace.root, "sub"), join(home.home, "no-such-folder")],
    });
    expect(await tools.use("run_cmd", `cat ${home.chain}/lib/data.txt`)).toContain("from the tool chain");
    await tools.use("run_cmd", "touch sub/new.txt");
    expect(await tools.use("run_cmd", "ls sub")).toContain("new.txt");
  });
});

describe.each(sandboxes)("$name: mcp.tools.command_read_paths", (setting) => {
  test("REQ-D12: nothing beside them is read, nothing in them is written, and the denylist holds at their top", async () => {
    await using home = await makeHome();
    await using workspace = await createWorkspace({});
    await using tools = commandTools(setting, workspace.root, {
      allowlist: ["cat", "touch", "grep"],
      powers: [],
      denylist: DENYLIST,
      readPaths: [home.chain],
    });
    expect(await tools.use("run_cmd", `cat ${home.home}/private.txt`)).not.toContain("private-content");
    expect(await tools.use("run_cmd", `touch ${home.chain}/lib/new`)).toMatch(/read-only|denied/i);
    expect(await tools.use("run_cmd", `grep -rh . ${home.chain}`)).toContain("from the tool chain");
    expect(await tools.use("run_cmd", `grep -rh . ${home.chain}`)).not.toContain("withheld-content");
  });
});
