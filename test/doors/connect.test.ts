import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { CLIENTS } from "../../src/cli/connect/clients.ts";
import { programLaunch } from "../../src/wiring/program-launch.ts";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { launcher } from "../workspace.ts";

/** What a program of the desktop has: neither version managers nor the Node of this repository. */
const SYSTEM_PATH = "/usr/bin:/bin";

const CASES = CLIENTS.flatMap((client) =>
  client.scopes.map((scope) => ({ client, scope, name: client.name })),
);

const run = (cwd: string, home: string, args: readonly string[], env: Record<string, string> = {}) =>
  runLlmc(cwd, args, { env: { HOME: home, ...env } });

/** Entries whose start was tried: several clients get the same one. */
const tried = new Set<string>();

/** Everything in a folder but the server's own state. */
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => !/^\.(?:llmc|local)(?:$|\/)/.test(path))
    .toSorted();

interface Launch {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/** The entry as the client's documentation describes it. */
const readEntry = (name: string, key: string, text: string): Launch => {
  const servers = (name === "codex" ? parse(text) : JSON.parse(text))[key] as Record<string, unknown>;
  const entry = servers["llmc"] as {
    command: string | string[];
    args?: string[];
    env?: Record<string, string>;
    environment?: Record<string, string>;
  };
  const [command = "", ...args] = [entry.command, ...(entry.args ?? [])].flat();
  return { command, args, env: entry.env ?? entry.environment ?? {} };
};

/** Starts what the entry says as a client does, and asks it for the project's files. */
const expectServer = async (start: Launch & { readonly cwd: string }): Promise<void> => {
  const mcp = new Client({ name: "test", version: "1.0.0" });
  await mcp.connect(new StdioClientTransport({ ...start, stderr: "ignore" }));
  try {
    expect((await mcp.listTools()).tools.map((tool) => tool.name)).toContain("rag_search");
    const listed = await mcp.callTool({ name: "list_dir", arguments: { path: "." } });
    expect(JSON.stringify(listed.content)).toContain("hello.txt");
  } finally {
    await mcp.close();
  }
};

describe("a client's file that cannot be used is named, with the way out, and left as it is", () => {
  const UNUSABLE: readonly (readonly [string, (file: string) => void, string])[] = [
    ["a FIFO", (file) => void execFileSync("mkfifo", [file]), "is not a regular file"],
    ["a folder", (file) => mkdirSync(file), "is a folder"],
    ["a link to itself", (file) => symlinkSync(file, file), "is a link that leads back to itself"],
    ["too large", (file) => writeFileSync(file, " ".repeat(1024 * 1024 + 1)), "is larger than 1 MiB"],
  ];

  test.each(UNUSABLE)("%s, in the project and in the home folder", async (_name, plant, reason) => {
    for (const [client, name] of [
      ["claude-code", ".mcp.json"],
      ["codex", ".codex/config.toml"],
    ] as const) {
      const [home, project] = [tempWorkspace(), tempWorkspace()];
      const file = join(client === "codex" ? home : project, name);
      mkdirSync(dirname(file), { recursive: true });
      plant(file);
      const { ino } = lstatSync(file);
      for (const option of [[], ["--remove"]]) {
        const { code, err } = await run(project, home, ["connect", client, "--yes", ...option]);
        expect(code).toBeGreaterThan(1);
        expect(err).toContain(`${file} ${reason}`);
        expect(err).toContain("--print shows by hand");
        expect(err).not.toMatch(/unexpected|\bat /);
      }
      expect(lstatSync(file).ino).toBe(ino);
    }
  });

  test("a file where the client's folder should be", async () => {
    const home = tempWorkspace({ ".codex": "mine\n" });
    const { code, err } = await run(tempWorkspace(), home, ["connect", "codex", "--yes"]);
    expect({ code, err }).toMatchObject({ code: 5, err: expect.stringContaining("lies below a file") });
    expect(readFileSync(join(home, ".codex"), "utf8")).toBe("mine\n");
  });
});

describe("REQ-P3: the written entry starts a server on the project", () => {
  test.each(CASES)("$name, $scope scope; --remove leaves nothing behind", async ({ client, scope, name }) => {
    const home = tempWorkspace();
    const project = tempWorkspace({ "hello.txt": "hello\n" });
    const before = [filesIn(home), filesIn(project)];
    const connected = await run(project, home, ["connect", name, "--scope", scope, "--yes"]);
    expect(connected.code).toBe(0);
    const file = /^Wrote (.*)\.$/m.exec(connected.out)?.[1] ?? "";
    const { command, args, env } = readEntry(name, client.serversKey, readFileSync(file, "utf8"));
    expect(args.includes("--root")).toBe(!client.startsInProject);

    const start = {
      command,
      args: args.map((arg) => arg.replace(`\${workspaceFolder}`, project)),
      cwd: client.startsInProject ? project : "/",
      env: { PATH: client.hasShellPath ? (process.env["PATH"] ?? "") : SYSTEM_PATH, HOME: home, ...env },
    };
    const same = JSON.stringify(start).replaceAll(project, "PROJECT").replaceAll(home, "HOME");
    if (!tried.has(same)) await expectServer(start);
    tried.add(same);

    expect((await run(project, home, ["connect", name, "--scope", scope, "--remove", "--yes"])).code).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect([filesIn(home), filesIn(project)]).toEqual(before);
  });
});

describe("REQ-P3: where and how", () => {
  test("says what commands may run, and how to allow what the project needs", async () => {
    const home = tempWorkspace();
    const connect = async (project: string, ...more: string[]): Promise<string> =>
      (await run(project, home, ["connect", "claude-code", "--yes", ...more])).out;
    const plain = tempWorkspace();
    expect(await connect(plain)).toMatch(
      /servers\.\nCommands may run ls, cat, .*\bgit\b.*; llmc allow PROGRAM adds others\.\n$/,
    );
    expect(await connect(plain, "--remove")).not.toContain("Commands");
    expect(await connect(tempWorkspace({ "package.json": "{}" }))).toMatch(
      /others\.\nThis looks like a project for node: llmc allow node npm lets commands run its programs\.\n$/,
    );
    const off = tempWorkspace({ "llmc.toml": "[mcp.tools]\nenable_run_cmd = false\n" });
    expect(await connect(off)).toContain("Commands are switched off");
    const broken = tempWorkspace({ "llmc.toml": "[mcp.tools\n" });
    expect(await connect(broken)).toMatch(/Wrote .*\n.*servers\.\nnote: .*llmc\.toml/);
  });

  test("never llmc's own folder by default", async () => {
    const own = dirname(dirname(launcher));
    const home = tempWorkspace();
    const refused = await run(own, home, ["connect", "claude-code", "--print"]);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain("Run the command in your project's folder");
    expect((await run(own, home, ["connect", "claude-code", "--print", "--root", "."])).code).toBe(0);
  });

  test("REQ-D16 who connects the folder that llmc runs from is told what commands cannot change there", async () => {
    const home = tempWorkspace();
    const own = dirname(dirname(launcher));
    const connect = ["connect", "claude-desktop", "--yes", "--root"];
    const inside = await run(own, home, [...connect, own]);
    expect(inside.out).toMatch(
      /note: llmc runs from this workspace, so no command can change .*node_modules/,
    );
    expect(inside.out).toContain("npm install -g llmc-mcp");
    const outside = await run(own, tempWorkspace(), [...connect, tempWorkspace()]);
    expect(outside.out).not.toContain("runs from this workspace");
    const doctor = await run(own, home, ["doctor", "--root", own]);
    expect(doctor.out).toMatch(/own files +llmc runs from this workspace/);
    const mkdir = 'node -e \'require("fs").mkdirSync("node_modules/.any-cache", { recursive: true })\'';
    const allow = ["--set", "mcp.tools.run_cmd_allowlist=node"];
    const call = ["call", "run_cmd", "--root", own, ...allow, "--args", JSON.stringify({ command: mkdir })];
    const failed = await run(own, home, call);
    if (doctor.out.includes("bubblewrap"))
      expect(`${failed.out}${failed.err}`).toContain(
        'node_modules/.any-cache" belongs to the llmc that is running',
      );
  });

  test("the file that a client already has is used, whatever its name", async () => {
    const home = tempWorkspace();
    const project = tempWorkspace({ "opencode.jsonc": "{\n  // mine\n}\n" });
    expect((await run(project, home, ["connect", "opencode", "--yes"])).out).toContain("opencode.jsonc");
    expect(readFileSync(join(project, "opencode.jsonc"), "utf8")).toContain("// mine");
  });

  test("run by npx: in npx form, without the PATH where that cannot be trusted", () => {
    const env = { npm_command: "exec", npm_execpath: "/opt/node24/lib/node_modules/npm/bin/npm-cli.js" };
    const folder = "/home/u/.npm/_npx/0123456789abcdef/node_modules/llmc-mcp";
    const node = "/opt/node24/bin/node";
    expect(programLaunch(env, folder, node)).toEqual({
      withPath: { command: "npx", args: ["-y", "llmc-mcp"], env: {} },
      withoutPath: {
        command: node,
        args: ["/opt/node24/lib/node_modules/npm/bin/npx-cli.js", "-y", "llmc-mcp"],
        env: { LLMC_NODE: node },
      },
      folder,
    });
    expect(programLaunch({ npm_command: "exec" }, "/opt/llmc", node).withPath.command).toBe(
      "/opt/llmc/bin/llmc",
    );
  });

  test("installed by npm: an absolute Node for desktop programs, none where the program brings its own", () => {
    const launch = (node: string) => programLaunch({}, "/opt/llmc", node);
    expect(launch("/opt/node24/bin/node").withoutPath.env).toEqual({ LLMC_NODE: "/opt/node24/bin/node" });
    expect(launch("/opt/llmc/node_modules/node/bin/node").withoutPath.env).toEqual({});
    expect(launch("/opt/node24/bin/node").withPath.env).toEqual({});
  });

  test("a Node that the person had to name is named in every entry: codex and others pass no variables on", () => {
    const node = "/opt/node24/bin/node";
    const named = (path: string) => programLaunch({ LLMC_NODE: path }, "/opt/llmc", path).withPath.env;
    expect(named(node)).toEqual({ LLMC_NODE: node });
    expect(named("/opt/llmc/node_modules/node/bin/node")).toEqual({});
  });
});

describe("REQ-P3: the launcher finds a Node that is new enough", () => {
  /** A package as npm installs it globally, and a PATH whose Node is 20. */
  const install = () => {
    const prefix = tempWorkspace();
    const folder = join(prefix, "lib/node_modules/llmc-mcp");
    mkdirSync(join(folder, "dist"), { recursive: true });
    mkdirSync(join(folder, "bin"));
    for (const name of ["llmc", "find-node"]) {
      writeFileSync(join(folder, "bin", name), readFileSync(join(dirname(launcher), name)));
      chmodSync(join(folder, "bin", name), 0o755);
    }
    writeFileSync(join(folder, "dist/main.js"), "console.log('ran on', process.execPath);\n");
    mkdirSync(join(prefix, "old"));
    writeFileSync(join(prefix, "old/node"), "#!/bin/sh\necho 20.19.0\n");
    chmodSync(join(prefix, "old/node"), 0o755);
    const start = (env: Record<string, string> = {}) => {
      const { status, stdout, stderr } = spawnSync(join(folder, "bin/llmc"), [], {
        env: { PATH: `${join(prefix, "old")}:/bin`, HOME: prefix, ...env },
        encoding: "utf8",
      });
      return { status, out: stdout, err: stderr };
    };
    return { prefix, folder, start };
  };

  test("FAIL-J1 never one that lies beside it, or in a folder above that npm does not keep its own in", () => {
    const { prefix, folder, start } = install();
    const plant = (path: string): void => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "#!/bin/sh\necho planted\n");
      chmodSync(path, 0o755);
    };
    plant(join(folder, "../node/bin/node"));
    expect(start({ PATH: `${dirname(process.execPath)}:/bin` }).out).toContain("ran on");
    const project = join(prefix, "project/tools/llmc-mcp");
    mkdirSync(dirname(project), { recursive: true });
    renameSync(folder, project);
    plant(join(prefix, "bin/node"));
    const env = { PATH: `${join(prefix, "old")}:/bin`, HOME: prefix };
    const { stdout } = spawnSync(join(project, "bin/llmc"), [], { env, encoding: "utf8" });
    expect(stdout).not.toContain("planted");
  });

  test("the one of npm's prefix, or of a version manager, where the PATH has Node 20 only", () => {
    const { prefix, start } = install();
    const at = join(prefix, ".nvm/versions/node/v24.0.0/bin");
    mkdirSync(at, { recursive: true });
    symlinkSync(process.execPath, join(at, "node"));
    expect(start()).toMatchObject({ status: 0, err: "" });
    mkdirSync(join(prefix, "bin"));
    symlinkSync(process.execPath, join(prefix, "bin/node"));
    expect(start().out).toContain("ran on");
  });

  test("the one of LLMC_NODE, and another where that is gone", () => {
    const { prefix, start } = install();
    expect(start({ LLMC_NODE: process.execPath }).out).toContain(process.execPath);
    mkdirSync(join(prefix, "bin"));
    symlinkSync(process.execPath, join(prefix, "bin/node"));
    expect(start({ LLMC_NODE: "/nowhere/node" }).status).toBe(0);
  });
});

test("REQ-C8: folders that variables of the shell name are passed on, since clients do not", async () => {
  const home = tempWorkspace();
  const project = tempWorkspace();
  const state = join(home, "state");
  await run(project, home, ["connect", "cursor", "--yes"], {
    XDG_STATE_HOME: state,
    XDG_CONFIG_HOME: join(home, ".config"),
  });
  const text = readFileSync(join(project, ".cursor/mcp.json"), "utf8");
  expect(readEntry("cursor", "mcpServers", text).env).toMatchObject({ XDG_STATE_HOME: state });
  expect(text).not.toContain("XDG_CONFIG_HOME");
});
