import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { USER_STATE } from "../user-state.ts";

/** Plants something to be obeyed, and what it is told; says so, and waits for `go`. */
const PLANT = `
import os, sys, time
os.makedirs("sub/.git/objects"); os.makedirs("sub/.git/refs/heads")
open("sub/.git/HEAD", "w").write("ref: refs/heads/main\\n")
open("sub/.git/config", "w").write("[core]\\n\\tfsmonitor = touch evil\\n")
open("sub/.envrc", "w").write("evil\\n")
if len(sys.argv) > 1: open("llmc.toml", "w").write(open(sys.argv[1]).read())
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
if "unlink" in sys.argv: os.unlink("llmc.toml")
`;

/** Says that it runs and, when told to go, writes the file that it is told to; it never ends. */
const MANAGED = `
import os, sys, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
if len(sys.argv) > 1: open("llmc.toml", "w").write(open(sys.argv[1]).read())
while True: time.sleep(1)
`;

/** Writes over the configuration, or removes it, as soon as it can. */
const OVER = `
import os, sys, time
open("ready", "w").close()
for _ in range(1000):
    try:
        if "unlink" in sys.argv: os.unlink("llmc.toml")
        else: open("llmc.toml", "w").write("# nothing\\n")
        break
    except OSError: time.sleep(0.01)
open("written", "w").close()
`;

const NARROW = '[mcp.tools]\nallowed_roots = ["d"]\n';
const SHUT = '[mcp.tools]\ndenylist_globs = ["**"]\n';
const LESS = '[mcp.tools]\ndenylist_globs = ["less.txt"]\n';

const OVERRIDES = {
  "mcp.mode": "classic",
  "mcp.tools.run_cmd_allowlist": "python3",
  "mcp.tools.command_powers": "python3:run",
};

const open = (config?: string): Promise<TestApp> =>
  openTestApp({
    files: {
      "plant.py": PLANT,
      "managed.py": MANAGED,
      "over.py": OVER,
      "narrow.txt": NARROW,
      "shut.txt": SHUT,
      "sub/keep": "",
      "d/keep": "",
    },
    ...(config === undefined ? {} : { config }),
    overrides: OVERRIDES,
    watch: true,
  });

const appears = async (app: TestApp, name: string): Promise<void> => {
  while (!existsSync(join(app.root, name))) await sleep(10);
};

/** As editors save. */
const replace = (app: TestApp, text: string): void => {
  writeFileSync(join(app.root, "new.toml"), text);
  renameSync(join(app.root, "new.toml"), join(app.root, "llmc.toml"));
};

const textOf = (app: TestApp): string | undefined => {
  const file = join(app.root, "llmc.toml");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
};

/** What the files say that were renamed. */
const refused = (app: TestApp): readonly string[] =>
  readdirSync(app.root)
    .filter((name) => name.startsWith("llmc.toml.refused-"))
    .map((name) => readFileSync(join(app.root, name), "utf8"));

/** As the tools see it: narrowed to `d`, or not. */
const isNarrowed = (app: TestApp): boolean => app.config.current().config.mcp.tools.allowed_roots[0] === "d";

const until = async (holds: () => boolean): Promise<void> => {
  for (let round = 0; round < 500 && !holds(); round++) await sleep(10);
  expect(holds()).toBe(true);
};

const runThen = async (app: TestApp, command: string, work: () => Promise<void>): Promise<string> => {
  const running = app.ask("run_cmd", { command });
  await appears(app, "ready");
  await work();
  writeFileSync(join(app.root, "go"), "");
  return JSON.stringify(await running);
};

/** The watch, and the second reading after it, take about 150 ms. */
const NOTICED_MS = 600;

const startManaged = async (app: TestApp, ...args: readonly string[]): Promise<string> => {
  const answer = await app.text("linux_proc_start", { command: ["python3 managed.py", ...args].join(" ") });
  await appears(app, "ready");
  return /p_\w+/.exec(answer)?.[0] ?? "";
};

const llmc = async (app: TestApp, ...args: readonly string[]): Promise<void> => {
  const ended = await runLlmc(app.root, args, {
    env: { PATH: "/usr/bin:/bin", XDG_STATE_HOME: dirname(USER_STATE) },
  });
  expect(ended, ended.err).toMatchObject({ code: 0 });
};

describe("REQ-D22 FAIL-J1 a configuration that changes while a command runs", () => {
  test("the check after a command looks with the rules that it was started under", async () => {
    const app = await open("[mcp]\n");
    const answer = await runThen(app, "python3 plant.py", async () => {
      writeFileSync(join(app.root, "llmc.toml"), NARROW);
      await until(() => isNarrowed(app));
    });
    expect(readdirSync(join(app.root, "sub")), answer).not.toContain(".git");
    expect(readdirSync(join(app.root, "sub")), answer).not.toContain(".envrc");
    expect(answer).toContain("sub/.git");
  });

  test.each(["", " unlink"])("a file that a command makes is not read%s", async (end) => {
    const app = await open();
    const answer = await runThen(app, `python3 plant.py narrow.txt${end}`, async () => {
      await sleep(NOTICED_MS);
      expect(isNarrowed(app)).toBe(false);
    });
    const names = readdirSync(join(app.root, "sub"));
    expect(names, answer).not.toContain(".git");
    expect(names, answer).not.toContain(".envrc");
    expect(existsSync(join(app.root, "llmc.toml"))).toBe(false);
    await sleep(NOTICED_MS);
    expect(isNarrowed(app)).toBe(false);
  });

  test("one that a process makes which runs on is not read either, and is renamed while it runs", async () => {
    const app = await open();
    const id = await startManaged(app, "shut.txt");
    writeFileSync(join(app.root, "go"), "");
    await until(() => readdirSync(app.root).some((name) => name.startsWith("llmc.toml.refused-")));
    expect(existsSync(join(app.root, "llmc.toml"))).toBe(false);
    expect(await app.text("read_file", { path: "narrow.txt" })).toContain("allowed_roots");
    let output = "";
    while (!output.includes("llmc.toml.refused-"))
      output += await app.text("linux_proc_read", { proc_id: id, wait_ms: 200 });
  });

  test("what the user writes into a file that the process cannot write is read at once", async () => {
    const app = await open("[mcp]\n");
    await startManaged(app);
    writeFileSync(join(app.root, "llmc.toml"), NARROW);
    await until(() => isNarrowed(app));
  });

  test("what llmc allow writes is read at once, in a new file too", async () => {
    const app = await open();
    await startManaged(app);
    await llmc(app, "allow", "env", "--yes");
    await until(() => app.config.current().file !== undefined);
    await sleep(1500);
    expect(readFileSync(join(app.root, "llmc.toml"), "utf8")).toContain('"env:run"');
  });

  test("what a file says that was replaced beside a process is not read: it is renamed, and the last one comes back", async () => {
    const app = await open("[mcp]\n");
    const id = await startManaged(app);
    replace(app, NARROW);
    await until(() => refused(app).length > 0 && textOf(app) === "[mcp]\n");
    expect(refused(app)).toEqual([NARROW]);
    await app.text("linux_proc_stop", { proc_id: id });
    await sleep(NOTICED_MS);
    expect(isNarrowed(app)).toBe(false);
    expect(refused(app)).toEqual([NARROW]);
    expect(await app.logs()).toContain("llmc.toml -> llmc.toml.refused-");
  });

  test.each(["run_cmd", "linux_proc_start"])(
    "what a command of %s writes into a file that was replaced meanwhile is not obeyed",
    async (tool) => {
      const app = await open(LESS);
      const running = app.ask(tool, { command: "python3 over.py" });
      await appears(app, "ready");
      replace(app, `${LESS}# saved\n`);
      await appears(app, "written");
      await running;
      // A check that comes first has renamed what the user saved, and the command writes into what came back.
      await until(() => refused(app).length > 0 && textOf(app) === LESS);
      await sleep(NOTICED_MS);
      expect(app.config.current().config.mcp.tools.denylist_globs).toContain("less.txt");
    },
  );

  test("a command that removes such a file does not get rid of it, and the answer says so", async () => {
    const app = await open(LESS);
    const running = app.ask("run_cmd", { command: "python3 over.py unlink" });
    await appears(app, "ready");
    replace(app, `${LESS}# saved\n`);
    expect(JSON.stringify(await running)).toContain("llmc.toml (put back as it was");
    expect(textOf(app)).toBe(LESS);
    await sleep(NOTICED_MS);
    expect(app.config.current().config.mcp.tools.denylist_globs).toContain("less.txt");
  });

  test("what llmc allow wrote comes back if a process writes over it", async () => {
    const app = await open(LESS);
    const id = await startManaged(app, "shut.txt");
    await llmc(app, "allow", "env", "--yes");
    const allowed = textOf(app);
    expect(allowed).toContain('"env:run"');
    await sleep(2500);
    expect(textOf(app)).toBe(allowed);
    writeFileSync(join(app.root, "go"), "");
    await until(() => refused(app).includes(SHUT) && textOf(app) === allowed);
    await app.text("linux_proc_stop", { proc_id: id });
    expect(textOf(app)).toBe(allowed);
  });

  test("a link to the file comes back if a command takes it away: without it, more would be allowed", async () => {
    const app = await open("[mcp]\n");
    const file = join(app.root, "llmc.toml");
    writeFileSync(join(app.root, "real.toml"), LESS);
    renameSync(file, join(app.root, "old.toml"));
    symlinkSync("real.toml", file);
    await until(() => app.config.current().config.mcp.tools.denylist_globs.includes("less.txt"));
    const answer = JSON.stringify(
      await app.ask("run_cmd", { command: `python3 -c 'import os; os.unlink("llmc.toml")'` }),
    );
    expect(readlinkSync(file), answer).toBe("real.toml");
    await sleep(NOTICED_MS);
    expect(app.config.current().config.mcp.tools.denylist_globs).toContain("less.txt");
  });

  test("policies that a command makes forbid nothing", async () => {
    const app = await open('[mcp.security]\npolicy_files = ["policies/*.cedar"]\n');
    const forbid = "forbid(principal, action, resource);";
    const running = app.ask("run_cmd", {
      command: `python3 -c 'import os, time; os.mkdir("policies"); open("policies/a.cedar", "w").write("${forbid}"); open("ready", "w").close(); time.sleep(1)'`,
    });
    await appears(app, "ready");
    await sleep(NOTICED_MS);
    expect(await app.text("read_file", { path: "narrow.txt" })).toContain("allowed_roots");
    expect(JSON.stringify(await running)).toContain("policies -> policies.refused-");
    mkdirSync(join(app.root, "policies"));
    writeFileSync(join(app.root, "policies/b.cedar"), forbid);
    await vi.waitFor(
      async () => expect((await app.ask("read_file", { path: "narrow.txt" })).kind).toBe("error"),
      { timeout: 10_000 },
    );
  });
});
