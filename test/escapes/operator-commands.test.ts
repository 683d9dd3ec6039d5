import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { userFolders } from "../../src/config/user-folders.ts";
import { createTrust, trustWritten } from "../../src/wiring/trust.ts";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { cleanEnv } from "../workspace.ts";

const run = (root: string, ...args: readonly string[]) =>
  runLlmc(root, [...args, "--root", root], { env: cleanEnv() });

describe("FAIL-J1 FAIL-J2 commands of the operator in a hostile workspace", () => {
  test("REQ-D22: what was written is trusted, not what lies there by now", async () => {
    const root = tempWorkspace({ "mods/evil.mjs": "export const register = () => {};\n" });
    const file = join(root, "llmc.toml");
    const request = { root, overrides: {}, env: {}, folders: userFolders(process.env, tmpdir()) };
    writeFileSync(file, '[mcp.tools]\ncustom_modules = "mods"\nrun_cmd_allowlist = ["ls", "bash"]\n');
    await trustWritten(request, file, '[mcp.tools]\nrun_cmd_allowlist = ["ls", "make"]\n', {
      isRecorded: true,
    });
    const granted = (await createTrust(request).list()).find(({ workspace }) => workspace === root);
    expect(JSON.stringify(granted)).toContain("make");
    expect(JSON.stringify(granted)).not.toMatch(/bash|mods|evil/);
    const { isGranted } = await createTrust(request).plan();
    expect(isGranted).toBe(false);
  });

  test("llmc allow does not write through a link", async () => {
    const outside = tempWorkspace({ "config.toml": '[mcp]\nmode = "hybrid"\n' });
    const root = tempWorkspace();
    symlinkSync(join(outside, "config.toml"), join(root, "llmc.toml"));
    const { code, err } = await run(root, "allow", "make", "--yes");
    expect(code, err).not.toBe(0);
    expect(err).toContain("is a link");
    expect(readFileSync(join(outside, "config.toml"), "utf8")).toBe('[mcp]\nmode = "hybrid"\n');
  });

  test("llmc connect neither copies nor changes what a project's link leads to", async () => {
    const outside = tempWorkspace({ "secret.json": '{"auth":"hunter2"}' });
    const root = tempWorkspace();
    symlinkSync(join(outside, "secret.json"), join(root, ".mcp.json"));
    const { code, err } = await run(root, "connect", "claude-code", "--scope", "project", "--yes");
    expect(code, err).not.toBe(0);
    expect(err).toContain("leaves the project");
    expect(readFileSync(join(outside, "secret.json"), "utf8")).toBe('{"auth":"hunter2"}');
    expect(existsSync(join(root, ".mcp.json.llmc-backup"))).toBe(false);
  });

  test("llmc connect creates nothing through a project's linked folder", async () => {
    const outside = tempWorkspace();
    const root = tempWorkspace();
    for (const [client, folder] of [
      ["cursor", ".cursor"],
      ["vscode", ".vscode"],
      ["zed", ".zed"],
      ["gemini", ".gemini"],
    ] as const) {
      symlinkSync(outside, join(root, folder));
      const { code, err } = await run(root, "connect", client, "--scope", "project", "--yes");
      expect(code, err).not.toBe(0);
      expect(err).toContain("leaves the project");
    }
    expect(readdirSync(outside)).toEqual([]);
  });

  test("REQ-D22: llmc init shows what a preset grants, and a repository's own program grants nothing", async () => {
    const home = tempWorkspace({ "private/bin/run": "#!/bin/sh\n", "private/sub/.env": "X=1" });
    chmodSync(join(home, "private/bin/run"), 0o755);
    const root = tempWorkspace({
      "package.json": "{}",
      "yarn.lock": "",
      "node_modules/.bin/yarn": `#!${home}/private/bin/run\n`,
    });
    chmodSync(join(root, "node_modules/.bin/yarn"), 0o755);
    symlinkSync(join(home, "private/bin/run"), join(root, "node_modules/.bin/npm"));
    const { code, err } = await runLlmc(root, ["init", "--preset", "node"], {
      env: { PATH: "/nowhere", HOME: home },
    });
    expect(code, err).toBe(0);
    const written = readFileSync(join(root, "llmc.toml"), "utf8");
    expect(written).not.toContain("private");
    expect(written).not.toContain("node_modules");
    expect(err).toMatch(/in the workspace, so not allowed by a preset: llmc allow .*yarn/);
    // Every folder that commands may read because of it was shown.
    const granted = /command_read_paths = \[([^\]]*)\]/.exec(written)?.[1]?.match(/"[^"]+"/g) ?? [];
    for (const folder of granted) expect(err).toContain(JSON.parse(folder));
  });

  test("FAIL-J6 version files and shebang lines of a workspace neither block nor open anything", async () => {
    const root = tempWorkspace();
    for (const name of [".nvmrc", ".node-version", ".tool-versions"])
      execFileSync("mkfifo", [join(root, name)]);
    symlinkSync("/dev/zero", join(root, ".python-version"));
    mkdirSync(join(root, "node_modules/.bin"), { recursive: true });
    writeFileSync(join(root, "node_modules/.bin/evil-lint"), "#!/\n");
    chmodSync(join(root, "node_modules/.bin/evil-lint"), 0o755);
    const { code, out, err } = await run(root, "allow", "evil-lint", "--print");
    expect(code, err).toBe(0);
    expect(out).not.toMatch(/command_read_paths = \[[^\]]*"\/"/);
  });
});
