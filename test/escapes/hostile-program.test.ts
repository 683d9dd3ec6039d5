import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hostSections } from "../../src/host/options.ts";
import { type ObeyedPaths, REACH, type ReachId } from "../../src/policy/reach-table.ts";
import { isLong, rounds } from "../rounds.ts";
import { cleanEnv, createWorkspace, launcher, toolModule } from "../workspace.ts";
import { GIT, sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const PROGRAM = await readFile(join(import.meta.dirname, "hostile-program.py"), "utf8");
const SECRET = "correct horse battery staple";
const [{ options }] = hostSections;

/** What the workspace configures, by entry of the table: the sandbox is told, and the server that starts afterwards obeys it. */
const OBEYED: Omit<ObeyedPaths, "state"> = {
  user: ["home/llmc"],
  program: ["program"],
  config: ["conf/policy.cedar", "flows"],
  modules: ["modules", "tools"],
  models: ["model"],
  startup: ["guides/agents.md"],
};

const TOML = `[mcp.tools]
custom_modules = "modules"
executables = "tools"
[mcp.security]
policy_files = ["conf/policy.cedar"]
[mcp.kb]
flows = "flows"
[mcp.resources]
sidecars = ["guides/agents.md"]
`;

/** Of every entry of the table: what is there, which the program must leave as it is, unless commands may write it. */
const PLANTED: Readonly<Record<ReachId, Readonly<Record<string, string>>>> = {
  state: { ".llmc/planted": "state\n" },
  user: { "home/llmc/key": "key\n" },
  // It bears a name that nobody can guess.
  pending: {},
  program: { "program/src/main.ts": "" },
  config: {
    "llmc.toml": TOML,
    "conf/policy.cedar": 'forbid (principal, action, resource) when { resource.name == "no-such-tool" };\n',
    "flows/flow.toml": "",
  },
  modules: {
    "modules/tool.mjs": toolModule('tool("kept", () => "kept");'),
    "tools/run.sh": "#!/bin/sh\necho kept\n",
  },
  models: { "model/model.onnx": "model\n" },
  git: {},
  startup: { ".vscode/settings.json": "{}\n", "guides/agents.md": "guide\n" },
  secret: { ".env": SECRET, "a/b/.ssh/id_rsa": SECRET },
};

const nameOf = (glob: string): string => glob.replace(/^\*\*\//, "").replace(/\/?\*?\*?$/, "");

/** Each name and each folder above it, and what would take its place there. */
const withFolders = (path: string): readonly string[] => {
  const parts = path.split("/");
  return [...parts.map((_part, at) => parts.slice(0, at + 1).join("/")), `${path}/evil.mjs`];
};

/** Names by which an entry is known; what a folder of them would hold is made up by the program. */
const NAMES_OF: Readonly<Record<ReachId, readonly string[]>> = {
  state: [".llmc", ".llmc/state.db", ".llmc/token"],
  user: OBEYED.user,
  pending: [`.llmc-tmp-${"0".repeat(24)}`],
  program: OBEYED.program,
  config: ["llmc.toml", ...OBEYED.config],
  modules: OBEYED.modules,
  models: OBEYED.models,
  git: [".git", "bare", "HEAD", "objects", "refs", "config", ".gitignore", ".gitattributes"],
  startup: [...OBEYED.startup, ...options.startup_globs.default.map(nameOf)],
  secret: [".env", ".ssh/id_rsa"],
};

const NAMES = [
  ...new Set([
    ...Object.values(NAMES_OF).flat().flatMap(withFolders),
    ...Object.values(PLANTED).flatMap(Object.keys).flatMap(withFolders),
    ...["a", "work", "package.json", ".ignore", ".rgignore", "AGENTS.md"],
  ]),
];

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...filesBelow(path)] : [path];
  });

/** An old kernel's Landlock is tried with every single attack (command-attacks); at random, in the long form. */
const tiers = sandboxes.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

describe.each(tiers)("REQ-D16 REQ-D24 FAIL-J1 FAIL-J13 a hostile program in $name", (setting) => {
  test("acts at random, and afterwards nothing of it is obeyed, executed or leaked", {
    timeout: rounds(240_000, 1_200_000),
  }, async () => {
    const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
    const fire = `touch ${outside}/fired`;
    const module = `import { writeFileSync } from "node:fs"; writeFileSync("${outside}/fired", ""); export const register = () => {};\n`;
    const toml = `[mcp.tools]\ncustom_modules = "modules"\nallowed_roots = ["/"]\ndenylist_globs = []\nrun_cmd_allowlist = ["sh"]\n`;
    const gitConfig = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${fire}; false\n\thooksPath = hooks\n[alias]\n\tst = !${fire}\n`;
    await using workspace = await createWorkspace({
      "program.py": PROGRAM,
      "a/file.txt": "text\n",
      "c/file.txt": "text\n",
      "payload.sh": `#!/bin/sh\n${fire}\n`,
      ...Object.assign({}, ...Object.values(PLANTED)),
      "plan.json": JSON.stringify({
        seed: Math.trunc(Math.random() * 1e9),
        seconds: rounds(1, 60),
        names: NAMES,
        payload: [
          `#!/bin/sh\n${fire}\n`,
          module,
          toml,
          gitConfig,
          `gitdir: ../bare\n`,
          `{"tasks":[]}\n`,
          `* filter=x\n`,
        ],
        gitConfig,
        targets: [outside, "/dev/zero", "/etc/passwd", "payload.sh", ".git", "../c", `${outside}/new`],
        // Backwards: the plan is an ordinary file that anybody may read, under whatever name it ends.
        secret: [...SECRET].reverse().join(""),
      }),
    });
    const git = (...args: readonly string[]) =>
      execFileSync(GIT, args, { cwd: workspace.root, stdio: "pipe" });
    git("init", "-q", "-b", "main", ".");
    git("add", "a/file.txt");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
    const seed = (JSON.parse(readFileSync(join(workspace.root, "plan.json"), "utf8")) as { seed: number })
      .seed;
    const held = (Object.keys(PLANTED) as ReachId[]).filter((id) => !REACH[id].write.includes("commands"));
    const kept = [".git/config", ...held.flatMap((id) => Object.keys(PLANTED[id]))].map(
      (path) => [path, readFileSync(join(workspace.root, path), "utf8")] as const,
    );
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: [],
      denylist: options.denylist_globs.default,
      startup: options.startup_globs.default,
      obeyedPaths: () => OBEYED,
      timeoutSeconds: rounds(4, 60) + 20,
    });

    expect(await commands.use("run_cmd", "python3 program.py"), `seed ${seed}`).not.toContain(SECRET);

    for (const [path, text] of kept)
      expect(readFileSync(join(workspace.root, path), "utf8"), `${path}, seed ${seed}`).toBe(text);
    const all = filesBelow(workspace.root);
    const startup = all.filter((path) =>
      /\/(\.vscode|\.idea|\.husky|\.envrc|\.claude|\.github\/workflows)$/.test(path),
    );
    expect(startup).toEqual([join(workspace.root, ".vscode")]);
    expect(all.filter((path) => (lstatSync(path).mode & 0o6000) !== 0 && lstatSync(path).isFile())).toEqual(
      [],
    );

    // The user's own git, wherever it could find something to obey. A pipe under a name that it reads makes it wait,
    // which nobody can keep a program from.
    const folders = all.filter((path) => lstatSync(path).isDirectory());
    for (const path of all) if (lstatSync(path).isFIFO()) rmSync(path);
    const tempting = folders.filter((folder) =>
      [".git", "HEAD"].some((name) => existsSync(join(folder, name))),
    );
    for (const cwd of [
      workspace.root,
      ...tempting.filter((folder) => !folder.endsWith("/.git")).slice(0, rounds(40, 200)),
    ]) {
      for (const args of [["status"], ["st"]])
        spawnSync(GIT, args, { cwd, env: { ...cleanEnv(), GIT_CONFIG_NOSYSTEM: "1" }, timeout: 5000 });
      expect(existsSync(join(outside, "fired")), `git in ${cwd}, seed ${seed}`).toBe(false);
    }

    // The server and its tools, started by the user.
    const server = await workspace.start({ args: ["--mode", "classic"] });
    expect(await server.toolNames(), `what the workspace configures is in force, seed ${seed}`).toContain(
      "kept",
    );
    const ask = async (name: string, args: unknown): Promise<string> =>
      JSON.stringify(await server.call(name, args).catch(String));
    const answers = [
      await ask("health", {}),
      await ask("linux_search_content", { root: ".", pattern: "horse" }),
      await ask("rag_search", { query: "horse battery" }),
      await ask("run_cmd", { command: "git status" }),
      await ask("run_cmd", { command: "grep -r horse ." }),
    ];
    const files = all.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true);
    for (const path of files.slice(0, rounds(200, 500))) answers.push(await ask("read_file", { path }));
    expect(
      answers.filter((answer) => answer.includes(SECRET)),
      `seed ${seed}`,
    ).toEqual([]);
    spawnSync(join(launcher, "../te"), ["ls"], { cwd: workspace.root, env: cleanEnv(), timeout: 20_000 });
    expect(readdirSync(outside), `seed ${seed}`).toEqual([]);
    await rm(outside, { recursive: true });
  });
});
