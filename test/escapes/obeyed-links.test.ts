import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { cleanEnv, launcher } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { openWrites } from "./write-port.ts";

const OURS = "the operator's\n";
const EVIL = "evil\n";

const link = (path: string, target: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
};

/** The operator's folder is outside, as dotfiles often are: what it holds are links into the workspace. */
const plant = () => {
  const root = tempWorkspace({
    "dots/real.toml": OURS,
    "dots/p.cedar": OURS,
    "hopped/c.toml": OURS,
    "mods/m.mjs": OURS,
    "src/a.txt": EVIL,
  });
  const outside = tempWorkspace();
  link(join(root, "dots/link.toml"), "real.toml");
  link(join(root, "hop"), "hopped");
  link(join(outside, "llmc/config.toml"), join(root, "dots/link.toml"));
  link(join(outside, "llmc/policies"), "../elsewhere");
  link(join(outside, "elsewhere/p.cedar"), join(root, "dots/p.cedar"));
  link(join(outside, "llmc/future.toml"), join(root, "dots/future.toml"));
  link(join(outside, "named.toml"), join(root, "hop/c.toml"));
  link(join(outside, "mods/m.mjs"), join(root, "mods/m.mjs"));
  const obeyedPaths = () => ({
    config: [join(outside, "named.toml"), join(outside, "llmc")],
    modules: [join(outside, "mods")],
  });
  const read = ["llmc/config.toml", "llmc/policies/p.cedar", "llmc/future.toml", "named.toml", "mods/m.mjs"];
  const isEvil = (path: string): boolean =>
    existsSync(join(outside, path)) && readFileSync(join(outside, path), "utf8") !== OURS;
  return { root, obeyedPaths, evil: () => read.filter(isEvil) };
};

const FILES = [
  "dots/real.toml",
  "dots/link.toml",
  "dots/p.cedar",
  "hop/c.toml",
  "hopped/c.toml",
  "mods/m.mjs",
];
const NAMES = [...FILES, "dots/future.toml", "hop", "dots", "hopped"];

describe("REQ-D16 FAIL-J1 links on the way to what is obeyed, into a root", () => {
  test("file tools change neither their targets nor the links", async () => {
    const { root, obeyedPaths, evil } = plant();
    const writes = openWrites(root, { obeyedPaths });
    const denied = { code: "path_denied" };
    for (const path of FILES) {
      await expect(writes.rewrite(path, EVIL), path).rejects.toMatchObject(denied);
      await expect(writes.append(path, EVIL), path).rejects.toMatchObject(denied);
    }
    await expect(writes.rewrite("dots/future.toml", EVIL)).rejects.toMatchObject(denied);
    for (const path of NAMES) {
      if (!existsSync(join(root, path))) continue;
      await expect(writes.move(path, "moved"), path).rejects.toMatchObject(denied);
      await expect(writes.remove(path, { recursive: true }), path).rejects.toMatchObject(denied);
    }
    await writes.rewrite("dots/other.toml", EVIL);
    expect(evil()).toEqual([]);
  });

  test.each(settings.filter(({ tier }) => tier !== "plain"))("nor do commands in $name", async (setting) => {
    const { root, obeyedPaths, evil } = plant();
    const script = `
import os
def attempt(step, *args):
    try: step(*args)
    except OSError: pass
def write(path):
    with open(path, "w") as file: file.write("evil\\n")
def replace(path):
    attempt(os.rename, path, path + ".old")
    attempt(os.symlink, "evil", path)
attempt(os.makedirs, "evil")
attempt(write, "evil/c.toml")
for path in ${JSON.stringify(NAMES)}: attempt(write, path)
for path in ${JSON.stringify(NAMES)}: replace(path)
attempt(write, "done")
`;
    writeFileSync(join(root, "hostile.py"), script);
    writeFileSync(join(root, "done"), "");
    const options = { allowlist: ["python3"], powers: [], denylist: [], obeyedPaths };
    await using commands = commandTools(setting, root, options);
    await commands.use("run_cmd", "python3 hostile.py");
    expect(readFileSync(join(root, "done"), "utf8")).toBe(EVIL);
    expect(evil()).toEqual([]);
  });

  test("the user's own config.toml in a dotfiles repository is written by no call", () => {
    const root = tempWorkspace({ "llmc/config.toml": "[mcp.tools]\nexec_timeout = 20\n" });
    const home = tempWorkspace();
    link(join(home, "llmc/config.toml"), join(root, "llmc/config.toml"));
    const write = (path: string): string => {
      const args = ["call", "linux_fs_write", "--root", root, "--args"];
      const { stdout, stderr } = spawnSync(
        launcher,
        [...args, JSON.stringify({ path, content: '[mcp.tools]\ncustom_modules = "mods"\n' })],
        { env: { ...cleanEnv(), XDG_CONFIG_HOME: home }, encoding: "utf8" },
      );
      return stdout + stderr;
    };
    expect(write("llmc/config.toml")).toContain("is llmc's own configuration, which no tool changes");
    expect(write("llmc/other.toml")).toContain("ok");
    expect(readFileSync(join(root, "llmc/config.toml"), "utf8")).toContain("exec_timeout");
  }, 30_000);
});
