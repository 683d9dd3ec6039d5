import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isLong } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const tiers = settings.filter(
  ({ tier, maxLandlockAbi }) => tier !== "plain" && (maxLandlockAbi === undefined || isLong),
);

/** Two programs that wait for each other: what the first one does, the second one goes on with after its end. */
const PLAY = `
import os, sys, time
PLAIN = "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n"

def put(path, text):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file: file.write(text)
    except OSError as error: print(path, error.errno)

def move(path, to):
    try: os.rename(path, to)
    except OSError as error: print(path, error.errno)

SIGNS = os.path.dirname(os.path.abspath(sys.argv[0])) + "/signs/"
def say(name): put(SIGNS + name, "")
def wait(name):
    end = time.time() + 30
    while not os.path.exists(SIGNS + name) and time.time() < end: time.sleep(0.02)

scene, part = sys.argv[1:]
if scene == "descriptor" and part == "first":
    for folder in ["objects", "refs"]: os.makedirs("p/.git/" + folder)
    put("p/.git/HEAD", "ref: refs/heads/main\\n")
    put("p/.git/config", PLAIN)
    say("made"); wait("opened")
    move("d/x", "p/.git/config")
if scene == "descriptor" and part == "second":
    file = open("d/x", "w"); file.write(PLAIN); file.flush()
    say("opened"); wait("ended")
    file.write("\\tfsmonitor = touch fired; false\\n"); file.flush()
if scene == "folder" and part == "first":
    for folder in ["objects", "refs"]: os.makedirs("p/.git/" + folder)
    put("p/.git/HEAD", "ref: refs/heads/main\\n")
    put("p/.git/config", PLAIN)
    say("made"); wait("opened")
    # Empty, as in a plain repository.
    os.unlink("p/d/k"); move("p/d", "p/.git/hooks")
if scene == "folder" and part == "second":
    os.chdir("p/d"); say("opened"); wait("ended")
    try: open("post-index-change", "w").write("#!/bin/sh\\n")
    except OSError as error: print(error.errno)
if scene == "known" and part == "first":
    put("p/sub/.envrc", "plain"); say("made"); wait("opened")
    move("p/sub/.envrc", "p/d/x"); move("p/sub", "p/zz"); move("p/d", "p/sub")
if scene == "known" and part == "second":
    say("opened"); wait("ended"); put("p/sub/x", "evil"); move("p/sub/x", "p/sub/.envrc")
if scene == "shut" and part == "first":
    put("p/sub/.envrc", "evil"); say("made"); wait("opened")
    move("p/sub", "p/zz"); move("p/d", "p/sub")
if scene == "shut" and part == "second":
    say("opened"); wait("ended"); put("p/sub/.envrc", "evil")
if scene == "project" and part == "first":
    for n in range(130): put("many/%d/.envrc" % n, "evil")
    say("made"); wait("opened"); move("project", "moved")
if scene == "project" and part == "second":
    open("ready", "w").close(); wait("ended"); open(".envrc", "w").write("evil")
`;

const scenes = ["descriptor", "folder", "known", "shut", "project"].flatMap((scene) =>
  tiers.map((setting) => ({ name: setting.name, setting, scene })),
);

// A process that is started to run on is the only one beside which another command can run.
describe.each(scenes)(
  "FAIL-J1 FAIL-J3 a process and a command play $scene in $name",
  ({ setting, scene }) => {
    test("and nothing that is obeyed is left", async () => {
      await using workspace = await createWorkspace({
        "play.py": PLAY,
        "d/k": "",
        "p/d/k": "",
        "p/sub/k": "",
        "project/k": "",
        "signs/k": "",
      });
      const at = (path: string): string => join(workspace.root, path);
      const options = { allowlist: ["python3"], powers: [], denylist: [], startup: ["**/.envrc"] };
      await using one = commandTools(setting, workspace.root, options);
      await using other = commandTools(setting, workspace.root, options);
      for (const server of [one, other]) await server.use("run_cmd", "python3 -c pass");
      const expectReported = async (name: string): Promise<void> => {
        while (!existsSync(at(`signs/${name}`))) await sleep(10);
      };
      const first = one.use("linux_proc_start", `python3 play.py ${scene} first`);
      await expectReported("made");
      const line = scene === "project" ? "cd project && python3 ../play.py" : "python3 play.py";
      const second = other.use("run_cmd", `${line} ${scene} second`);
      while (!existsSync(at("signs/opened")) && !existsSync(at("project/ready"))) await sleep(10);
      writeFileSync(at("signs/opened"), "");
      await first;
      writeFileSync(at("signs/ended"), "");
      await second;
      const config = existsSync(at("p/.git/config")) ? readFileSync(at("p/.git/config"), "utf8") : "";
      expect(config).not.toContain("fsmonitor");
      expect(existsSync(at("p/.git/hooks/post-index-change"))).toBe(false);
      for (const folder of ["p/sub", "project", "moved"])
        expect(existsSync(at(`${folder}/.envrc`)), folder).toBe(false);
    });
  },
);

test.each(tiers)("FAIL-J3 settings that the user adds during a command stay in $name", async (setting) => {
  await using workspace = await createWorkspace({
    "wait.py":
      "import os, time\nopen('work/ready', 'w').close()\nwhile not os.path.exists('work/go'): time.sleep(0.02)",
    "work/x": "",
  });
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: workspace.root, encoding: "utf8" });
  const at = (path: string): string => join(workspace.root, path);
  git("init", "-q");
  git("remote", "add", "origin", "https://example.org/x.git");
  await using commands = commandTools(setting, workspace.root, {
    allowlist: ["python3"],
    powers: [],
    denylist: [],
  });
  const during = async (change: () => void): Promise<string> => {
    for (const sign of ["ready", "go"]) rmSync(at(`work/${sign}`), { force: true });
    const running = commands.use("run_cmd", "python3 wait.py");
    while (!existsSync(at("work/ready"))) await sleep(10);
    change();
    writeFileSync(at("work/go"), "");
    return running;
  };
  for (const [key, value] of [
    ["branch.x.vscode-merge-base", "origin/main"],
    ["core.hooksPath", "hooks"],
  ] as const) {
    expect(await during(() => git("config", key, value))).not.toContain("refused");
    expect(git("config", key)).toBe(`${value}\n`);
  }
  expect(git("remote", "get-url", "origin")).toBe("https://example.org/x.git\n");
});

test.each(tiers)(
  "FAIL-J3 what the repository above a root obeys in it is not written in $name",
  async (setting) => {
    await using workspace = await createWorkspace({ "package/x": "" });
    const root = join(workspace.root, "package");
    const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: workspace.root });
    git("init", "-q");
    git("config", "include.path", "../package/team.gitconfig");
    git("config", "core.hooksPath", "package/hooks");
    await using commands = commandTools(setting, root, { allowlist: ["python3"], powers: [], denylist: [] });
    const program =
      "import os; os.mkdir('hooks'); open('hooks/pre-commit', 'w'); open('team.gitconfig', 'w')";
    // Renamed afterwards, or kept out: the program did run.
    expect(await commands.use("run_cmd", `python3 -c "${program}"`)).toMatch(
      /team\.gitconfig\.refused-.*hooks\.refused-|Permission denied: 'hooks'/,
    );
    await expect(commands.use("run_cmd", "echo evil > team.gitconfig")).rejects.toMatchObject({
      code: "path_denied",
    });
    expect(existsSync(join(root, "hooks"))).toBe(false);
    expect(existsSync(join(root, "team.gitconfig"))).toBe(false);
  },
);
