import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isLong } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

const PLANT = `
import os, sys, time

def put(path, text, more=None):
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file: file.write(text)
        if more: os.link(path, more)
    except OSError as error: print(path, error.errno)

def plant():
    for folder in ["sub/.git", "bare"]:
        put(folder + "/refs/x", "")
        put(folder + "/objects/x", "")
        put(folder + "/config", "[core]\\n\\tfsmonitor = touch fired; false\\n")
        put(folder + "/HEAD", "ref: refs/heads/main\\n")
    put(".envrc", "touch fired\\n", "work/name-" + sys.argv[1])
    put(".husky/pre-commit", "touch fired\\n")
    put("team.gitconfig", "[core]\\n\\tfsmonitor = touch fired; false\\n")
    try: os.symlink("linked", ".zed")
    except OSError as error: print(error.errno)

def bring_back():
    for folder in [".", "sub", "bare"]:
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if ".refused-" not in name: continue
            try: os.rename(folder + "/" + name, folder + "/" + name.split(".refused-")[0])
            except OSError as error: print(name, error.errno)
    try: os.link("work/name-first", ".envrc")
    except OSError as error: print(error.errno)

def hide():
    for index, path in enumerate(["sub/.git", "bare/HEAD", ".envrc", ".husky", ".zed", "team.gitconfig"]):
        try:
            # A file gets a second name and loses the first, as renaming does.
            if os.path.isdir(path) or os.path.islink(path): os.rename(path, "work/hidden-%d" % index)
            else:
                os.link(path, "work/hidden-%d" % index)
                os.unlink(path)
        except OSError as error: print(path, error.errno)

def show():
    for index, path in enumerate(["sub/.git", "bare/HEAD", ".envrc", ".husky", ".zed", "team.gitconfig"]):
        hidden = "work/hidden-%d" % index
        try:
            if os.path.isfile(hidden): open(hidden, "a").write("# more")
            os.rename(hidden, path)
        except OSError as error: print(path, error.errno)

def until(condition):
    end = time.time() + 30
    while not condition() and time.time() < end: time.sleep(0.02)

if sys.argv[1] == "first": plant()
elif not os.path.exists("work/ended-first"): put("work/overlapped", "")
put("work/ready-" + sys.argv[1], "")
until(lambda: os.path.exists("work/go-" + sys.argv[1]))
if sys.argv[1] == "first" and sys.argv[2] == "hidden": hide()
if sys.argv[1] == "first": put("work/ended-first", "")
if sys.argv[1] == "second": {"again": plant, "back": bring_back, "hidden": show}[sys.argv[2]]()
`;

const REPOSITORIES = ["sub/.git/HEAD", "bare/HEAD"];
const PLANTED = [...REPOSITORIES, ".envrc", ".husky", ".zed", "team.gitconfig"];

const ways = tiers.flatMap((setting) =>
  // Without a sandbox nothing holds what another command made.
  (setting.tier === "plain" ? ["again"] : ["again", "back", "hidden"]).flatMap((how) =>
    ["one server", "two servers"].map((servers) => ({ name: setting.name, setting, servers, how })),
  ),
);

const open = async ({ setting, servers }: (typeof ways)[number]) => {
  const workspace = await createWorkspace({ "plant.py": PLANT, "work/x": "" });
  execFileSync("git", ["init", "-q", workspace.root]);
  execFileSync("git", ["config", "include.path", "../team.gitconfig"], { cwd: workspace.root });
  const options = {
    allowlist: ["python3", "ls"],
    powers: [],
    denylist: [],
    startup: ["**/.envrc", "**/.husky", "**/.husky/**", "**/.zed", "**/.zed/**"],
  };
  const one = commandTools(setting, workspace.root, options);
  const other = servers === "one server" ? one : commandTools(setting, workspace.root, options);
  // The state of both servers, which is in the root, is made at the first use.
  for (const server of [one, other]) await server.use("run_cmd", "python3 -c pass");
  const at = (path: string): string => join(workspace.root, path);
  return {
    workspace,
    one,
    other,
    left: (paths: readonly string[]): readonly string[] => paths.filter((path) => existsSync(at(path))),
    isReady: async (name: string): Promise<void> => {
      while (!existsSync(at(`work/ready-${name}`))) await sleep(10);
    },
    go: (name: string): void => writeFileSync(at(`work/go-${name}`), ""),
    [Symbol.asyncDispose]: async () => {
      await one[Symbol.asyncDispose]();
      if (other !== one) await other[Symbol.asyncDispose]();
      await workspace.remove();
    },
  };
};

describe.each(ways)("FAIL-J1 FAIL-J3 in $name, of $servers, $how", (way) => {
  const { how } = way;

  test("of two commands that can write, the second one waits; what the first one made, neither leaves behind", async () => {
    await using stage = await open(way);
    const { one, other, left, isReady, go } = stage;
    const first = one.use("run_cmd", `python3 plant.py first ${how}`);
    await isReady("first");
    const second = other.use("run_cmd", `python3 plant.py second ${how}`);
    // Commands that only read wait for nobody; meanwhile the second one could have started.
    for (let round = 0; round < 3; round++)
      expect(await other.use("run_cmd", "ls work")).toContain("ready-first");
    expect(left(["work/ready-second"])).toEqual([]);
    go("first");
    await first;
    expect(left(PLANTED)).toEqual([]);
    await isReady("second");
    go("second");
    const answer = await second;
    expect(left([...PLANTED, "work/overlapped"]), answer).toEqual([]);
  });

  test("beside a process that runs on, a command leaves no repository behind", async () => {
    await using stage = await open(way);
    const { one, other, left, isReady, go } = stage;
    const first = one.use("linux_proc_start", `python3 plant.py first ${how}`);
    await isReady("first");
    const second = other.use("run_cmd", `python3 plant.py second ${how}`);
    await isReady("second");
    go("first");
    await first;
    expect(left(REPOSITORIES)).toEqual([]);
    go("second");
    const answer = await second;
    expect(left([...REPOSITORIES, "team.gitconfig"]), answer).toEqual([]);
  });
});
