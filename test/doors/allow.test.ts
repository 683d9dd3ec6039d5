import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { type Ended, runLlmc } from "../command-line.ts";

/** A user with a home of their own, and a project in it. */
const openHome = (files: Readonly<Record<string, string>> = {}) => {
  const home = tempWorkspace({ "project/README.md": "hello\n", ...files });
  const project = join(home, "project");
  // Node's own folder is not on the PATH: what is found must come from the folders of the home.
  const llmc = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
    runLlmc(project, args, { env: { PATH: "/usr/bin:/bin", HOME: home, ...env } });
  return {
    home,
    project,
    llmc,
    addProgram: (path: string, text: string) => {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
      chmodSync(join(home, path), 0o755);
    },
    config: () => readFileSync(join(project, "llmc.toml"), "utf8"),
    run: (command: string) => llmc(["call", "run_cmd", "--args", JSON.stringify({ command })]),
  };
};

const SCRIPT = '#!/bin/sh\necho "said by $0"\n';

describe("REQ-D15 REQ-X1: llmc allow", () => {
  test("a program of the system is allowed by name, in a new hybrid file that is trusted at once", async () => {
    const { llmc, config, run, project } = openHome();
    expect((await run("env echo hi")).err).toContain("llmc allow env");
    const printed = await llmc(["allow", "env", "--print"]);
    expect(printed).toMatchObject({ code: 0, err: "" });
    expect(printed.out).toContain("with the powers env:run");
    expect(printed.out).toContain("env starts any program, also those that are not allowed");
    expect(() => config()).toThrow();
    const refused = await llmc(["allow", "env"]);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain("--yes");
    expect((await llmc(["allow", "env", "--yes"])).code).toBe(0);
    expect(config()).toMatch(/^\[mcp\]\nmode = "hybrid"\n\n\[mcp\.tools\]\nrun_cmd_allowlist = \[/);
    expect(config()).toContain('"env"');
    expect(config()).toContain('command_powers = ["env:run"]');
    expect((await run("env echo hi")).out).toContain("hi");
    expect((await llmc(["allow", "--root", project, "env", "--yes"])).out).toContain("already allowed");
  });

  test("--user writes the user's own config.toml, which counts in every workspace without a list of its own", async () => {
    const { home, llmc, config, run, addProgram } = openHome();
    addProgram("project/node_modules/.bin/tool", SCRIPT);
    expect((await llmc(["allow", "--user", "tool", "--yes"])).err).toContain("lies in this workspace");
    const { code, out } = await llmc(["allow", "--user", "env", "--yes"]);
    expect([code, out]).toEqual([0, expect.stringContaining(join(home, ".config/llmc/config.toml"))]);
    expect(readFileSync(join(home, ".config/llmc/config.toml"), "utf8")).toContain('"env:run"');
    expect(() => config()).toThrow();
    expect((await run("env echo hi")).out).toContain("hi");
    expect((await llmc(["allow", "--user", "env", "--yes"])).out).toContain("already allowed");
    expect((await llmc(["tools"])).out).toContain("hybrid");
    await llmc(["allow", "touch", "--yes"]);
    expect((await llmc(["allow", "--user", "mkdir", "--print"])).out).toContain(
      "has a list of its own, which wins in this workspace",
    );
    const elsewhere = join(home, "xdg");
    expect((await llmc(["allow", "--user", "env", "--yes"], { XDG_CONFIG_HOME: elsewhere })).code).toBe(0);
    expect(existsSync(join(elsewhere, "llmc/config.toml"))).toBe(true);
  });

  test("a path that is allowed later is what its name stands for", async () => {
    const { home, llmc, run, addProgram, project } = openHome();
    addProgram(".local/bin/tool", SCRIPT.replace("$0", "the user's"));
    addProgram("project/.venv/bin/tool", SCRIPT.replace("$0", "the workspace's"));
    const PATH = `${join(home, ".local/bin")}:/usr/bin:/bin`;
    expect((await llmc(["allow", "tool", "--yes"], { PATH })).code).toBe(0);
    expect((await run("tool")).out).toContain("the user's");
    expect((await llmc(["allow", join(project, ".venv/bin/tool"), "--yes"])).code).toBe(0);
    expect((await run("tool")).out).toContain("the workspace's");
  });

  test("git ignores what the user's patterns in $XDG_CONFIG_HOME say", async () => {
    const { home, llmc, project } = openHome({ "project/x.swp": "", "xdg/git/ignore": "*.swp\n" });
    execFileSync("git", ["init", "-q", project]);
    const args = ["call", "run_cmd", "--args", JSON.stringify({ command: "git status --short" })];
    expect((await llmc(args)).out).toContain("x.swp");
    expect((await llmc(args, { XDG_CONFIG_HOME: join(home, "xdg") })).out).not.toContain("x.swp");
  });

  test("a workspace that is a part of a monorepo: doctor and a failed command tell what lies above it", async () => {
    const { home, llmc, project } = openHome({
      "package.json": '{"workspaces":["project"]}',
      "node_modules/left-pad/index.js": "",
      "project/package.json": "{}",
      "project/a.cjs": "require('left-pad')\n",
    });
    execFileSync("git", ["init", "-q", home]);
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const packages = join(home, "node_modules");
    const doctor = (await llmc(["doctor"])).out;
    expect(doctor).toContain(`${packages} lies above the workspace`);
    expect(doctor).toContain(`${home} is the repository of this workspace`);
    expect((await llmc(["allow", "node", "--yes"], env)).code).toBe(0);
    const args = ["call", "run_cmd", "--args", JSON.stringify({ command: "node a.cjs" })];
    expect((await llmc(args, env)).out).toContain(`${packages} lies above the workspace`);
    expect((await llmc(["doctor", "--root", home])).out).not.toContain("lies above the workspace");
    expect(existsSync(join(project, "llmc.toml"))).toBe(true);
  });

  test("llmc init offers no programs that are allowed already", async () => {
    const { home, llmc, addProgram } = openHome({ "project/package.json": "{}" });
    for (const name of ["node", "npm", "npx"]) addProgram(`.local/bin/${name}`, SCRIPT);
    const PATH = `${join(home, ".local/bin")}:/usr/bin:/bin`;
    const offer = "This looks like a project for node: llmc allow";
    expect((await llmc(["init", "--print"], { PATH })).err).toContain(offer);
    expect((await llmc(["allow", "--user", "node", "npm", "npx", "--yes"], { PATH })).code).toBe(0);
    expect((await llmc(["init", "--print"], { PATH })).err).not.toContain(offer);
  });

  test("REQ-M4: a promoted name that no tool has is told by doctor and config validate", async () => {
    const { llmc } = openHome({
      "project/llmc.toml":
        '[mcp]\nmode = "hybrid"\n[mcp.hybrid]\npromoted_tools = ["stat", "linux_proc_stopp"]\n',
    });
    const problem = "mcp.hybrid.promoted_tools names unknown tools: linux_proc_stopp";
    expect((await llmc(["config", "validate"])).err).toContain(problem);
    expect((await llmc(["doctor"])).out).toContain(problem);
  });

  test("a line is refused with all programs that it lacks", async () => {
    const { err } = await openHome().run("mkdir -p x && touch x/a | cut -c1; ls; mkdir y");
    expect(err).toContain('"mkdir", "touch" and "cut" are not among the programs that may be run.');
    expect(err).toContain("llmc allow mkdir touch cut (");
  });

  test("a power is granted by its name, as a refusal says it", async () => {
    const { llmc, config, run } = openHome();
    expect((await run("sort -o out.txt llmc.toml")).err).toContain("llmc allow sort:write");
    const { out } = await llmc(["allow", "sort:write", "--yes"]);
    expect(out).toContain("sort:write means: sort may change and delete files in the roots");
    expect(config()).toContain('command_powers = ["sort:write"]');
    expect((await run("sort -o out.txt llmc.toml")).code).toBe(0);
    expect((await llmc(["allow", "sort:fly", "--yes"])).err).toContain("names no power of a program");
  });

  test("what runs any code by its purpose is told to, and whose call it was is recorded", async () => {
    const { llmc, run } = openHome();
    for (const name of ["sh", "node"].filter((one) => existsSync(`/usr/bin/${one}`)))
      expect((await llmc(["allow", name, "--print"])).out).toContain(
        `note: ${name} starts any program, also those that are not allowed, and runs any code`,
      );
    expect((await llmc(["allow", "sort", "--print"])).out).not.toContain("starts any program");
    expect((await run("ls")).code).toBe(0);
    expect((await llmc(["usage"])).out).toContain("llmc-cli");
  });

  test("a script's interpreter is found, and its tool chain becomes readable", async () => {
    const { home, llmc, addProgram, config, run } = openHome();
    addProgram("project/node_modules/.bin/tool", "#!/usr/bin/env -S special\necho ran\n");
    mkdirSync(join(home, ".asdf/installs/special/2.0/bin"), { recursive: true });
    symlinkSync("/bin/sh", join(home, ".asdf/installs/special/2.0/bin/special"));
    const { out } = await llmc(["allow", "tool", "--yes"]);
    const chain = join(home, ".asdf/installs/special/2.0");
    expect(out).toContain(`started by ${chain}/bin/special`);
    expect(out).toContain("it lies in the workspace");
    expect(config()).toContain(`command_read_paths = ["${chain}"]`);
    expect(config()).not.toContain('"special"');
    expect((await run("tool")).out).toContain("ran");
  });

  test("an allowed program of the workspace is called by its path, and each path is the program that it names", async () => {
    const { home, llmc, addProgram, run, project } = openHome();
    addProgram("project/scripts/build.sh", SCRIPT);
    addProgram(".pyenv/versions/3.11.7/bin/python3.11", SCRIPT);
    symlinkSync("python3.11", join(home, ".pyenv/versions/3.11.7/bin/python"));
    mkdirSync(join(project, ".venv/bin"), { recursive: true });
    writeFileSync(join(project, ".venv/pyvenv.cfg"), "");
    for (const name of ["python", "python3.11"])
      symlinkSync(join(home, ".pyenv/versions/3.11.7/bin", name), join(project, ".venv/bin", name));
    const listed = [
      "./scripts/build.sh",
      join(home, ".pyenv/versions/3.11.7/bin/python"),
      ".venv/bin/python",
    ];
    expect((await llmc(["allow", ...listed, ".venv/bin/python3.11", "--yes"])).code).toBe(0);
    for (const [command, path] of [
      ["./scripts/build.sh", "scripts/build.sh"],
      ["scripts/build.sh", "scripts/build.sh"],
      ["cd scripts && ./build.sh", "scripts/build.sh"],
      [".venv/bin/python -V", ".venv/bin/python"],
      [`${project}/.venv/bin/python -V`, ".venv/bin/python"],
      [".venv/bin/python3.11 -V", ".venv/bin/python3.11"],
    ])
      expect([command, (await run(command ?? "")).out]).toEqual([command, `said by ${project}/${path}\n`]);
    expect((await run("which .venv/bin/python")).out).toBe(`${project}/.venv/bin/python\n`);
    const { err } = await run("cd .venv && ./build.sh");
    expect(err).toContain(`Allowed is ${project}/scripts/build.sh`);
  });

  test("doctor counts a program that was allowed by its path, whatever the system has by its name", async () => {
    const { llmc, addProgram } = openHome();
    addProgram(".pyenv/versions/3.11.7/bin/pytest", SCRIPT);
    const absent = async () =>
      /not in the system's folders: (.*)/.exec((await llmc(["doctor"])).out)?.[1] ?? "";
    expect(await absent()).toMatch(/\bpytest\b/);
    expect((await llmc(["allow", "pytest", "--yes"])).code).toBe(0);
    expect(await absent()).not.toMatch(/\bpytest\b/);
  });

  test("in an activated virtual environment, what the shell runs is allowed, and the notes say so", async () => {
    const { llmc, addProgram, run, project } = openHome();
    addProgram("project/.venv/bin/env", SCRIPT);
    const activated = { VIRTUAL_ENV: `${project}/.venv`, PATH: `${project}/.venv/bin:/usr/bin:/bin` };
    expect((await llmc(["allow", "env", "--print"])).out).toContain(
      `note: the workspace has one of its own; llmc allow ${project}/.venv/bin/env allows that one instead`,
    );
    const { out } = await llmc(["allow", "env", "--yes"], activated);
    expect(out).toContain(`env: ${project}/.venv/bin/env (your PATH)`);
    expect(out).toContain("note: it lies in the workspace");
    expect(out).toContain("note: your shell runs this one; llmc allow /usr/bin/env allows");
    expect((await run("env")).out).toBe(`said by ${project}/.venv/bin/env\n`);
  });

  test("what cannot be found is refused, with what was searched; nothing is written", async () => {
    const { llmc, config } = openHome();
    const { code, err } = await llmc(["allow", "env", "no-such-program", "--yes"]);
    expect(code).toBe(5);
    expect(err).toContain('There is no program "no-such-program"');
    for (const named of [
      "the system's folders",
      "node_modules/.bin",
      ".venv/bin",
      "nvm",
      "pyenv",
      "~/.cargo/bin",
    ])
      expect(err).toContain(named);
    expect(() => config()).toThrow();
  });

  test("REQ-D22: comments stay, exactly what was added is trusted, and what else waits stays waiting", async () => {
    const { llmc, config, run, project } = openHome();
    writeFileSync(
      join(project, "llmc.toml"),
      '# mine\n[mcp.tools]\nrun_cmd_allowlist = [\n  "ls", # list\n  "rm", # not yet\n]\nexec_timeout = 500 # long\n',
    );
    expect((await llmc(["allow", "env", "--yes"])).code).toBe(0);
    expect(config()).toBe(
      '# mine\n[mcp.tools]\nrun_cmd_allowlist = [\n  "ls", # list\n  "rm", # not yet\n  "env",\n]\nexec_timeout = 500 # long\ncommand_powers = ["env:run"]\n',
    );
    expect((await run("env echo hi")).out).toContain("hi");
    expect((await run("rm README.md")).err).toContain("not trusted");
    const trust = JSON.parse((await llmc(["trust", "--json"])).out);
    expect(trust.values).toMatchObject([
      { key: "mcp.tools.run_cmd_allowlist", granted: false },
      { key: "mcp.tools.exec_timeout", granted: false },
      { key: "mcp.tools.command_powers", granted: true },
    ]);
    expect((await llmc(["allow", "rm", "--yes"])).out).toContain("says so already, but is not trusted");
    expect((await run("rm README.md")).code).toBe(0);
  });

  test("a variable that wins over the file is named instead of writing in vain", async () => {
    const { llmc, config } = openHome();
    const run = await llmc(["allow", "env", "--yes"], { LLMC_MCP_TOOLS_RUN_CMD_ALLOWLIST: '["ls"]' });
    expect(run.code).toBe(2);
    expect(run.err).toContain("LLMC_MCP_TOOLS_RUN_CMD_ALLOWLIST");
    expect(() => config()).toThrow();
  });

  test("the user's own list is kept, and doctor says what it replaced", async () => {
    const { llmc, run } = openHome({
      ".config/llmc/config.toml": '[mcp.tools]\nrun_cmd_allowlist = ["ls"]\n',
    });
    expect((await llmc(["doctor"])).out).toMatch(/replaces the default, without cat, head/);
    expect((await llmc(["allow", "env", "--yes"])).code).toBe(0);
    expect((await run("ls")).out).toContain("README.md");
    expect((await run("cat README.md")).err).toContain("llmc allow cat");
  });
});

describe("REQ-X1: llmc init", () => {
  test("knows the kind of project, and says how to allow its programs", async () => {
    const { llmc, addProgram } = openHome({ "project/Cargo.toml": "" });
    addProgram(".local/bin/cargo", SCRIPT);
    const { code, err } = await llmc(["init", "--print"]);
    expect(code).toBe(0);
    expect(err).toContain("project for rust: llmc allow cargo ");
  });

  test("a preset allows what the machine has, trusted, in the commented file", async () => {
    const { llmc, addProgram, config, run } = openHome({ "project/Cargo.toml": "", "project/yarn.lock": "" });
    addProgram(".rustup/toolchains/stable-x/bin/cargo", SCRIPT);
    addProgram(".local/bin/yarn", SCRIPT);
    const { err, code } = await llmc(["init", "--preset", "rust,node"]);
    expect(code).toBe(0);
    expect(err).toMatch(/Allowed: .*yarn, cargo/);
    expect(config()).toContain('mode = "hybrid"');
    expect((await run("cargo test")).out).toContain("said by");
    expect((await run("yarn")).out).toContain("said by");
  });
});
