import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isLong } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

const COPY = `
import os, sys
for folder, _, names in os.walk("template/.git"):
    copy = folder.replace("template", sys.argv[1], 1)
    os.makedirs(copy)
    for name in names: open(copy + "/" + name, "wb").write(open(folder + "/" + name, "rb").read())
if len(sys.argv) > 2: open(sys.argv[1] + "/.git/config", "a").write("[core]\\n\\tfsmonitor = touch fired; false\\n")
`;

const CLOSE = `
import os, sys
def close(path, mode):
    folder = os.open(path, os.O_RDONLY)
    try: os.fchmod(folder, mode)
    except OSError as error: print(error.errno)
for path in sys.argv[2:]: close(path, int(sys.argv[1], 8))
`;

const options = { allowlist: ["python3"], powers: [], denylist: [], startup: ["**/.envrc"] };

/** The control: without it, a program that never ran would pass. Landlock closes a folder that holds a repository. */
const RENAMED_OR_KEPT_OUT =
  /"set_aside":\["sub\/\.envrc -> sub\/\.envrc\.refused-|Permission denied: 'sub\/\.envrc'/;

const createStand = async () => {
  const workspace = await createWorkspace({
    "copy.py": COPY,
    "close.py": CLOSE,
    "template/.envrc": "evil\n",
  });
  execFileSync("git", ["init", "-q"], { cwd: join(workspace.root, "template") });
  execFileSync("git", ["add", ".envrc"], { cwd: join(workspace.root, "template") });
  rmSync(join(workspace.root, "template/.envrc"));
  for (const folder of ["sub", "other"]) mkdirSync(join(workspace.root, folder));
  return workspace;
};

describe.each(tiers)("FAIL-J1 FAIL-J3 what cannot be judged, or was prepared, in $name", (setting) => {
  test("a repository that a command made is no witness for start-up files", async () => {
    await using workspace = await createStand();
    await using commands = commandTools(setting, workspace.root, options);
    await commands.use("run_cmd", "python3 copy.py sub");
    const answer = await commands.use("run_cmd", `python3 -c "open('sub/.envrc', 'w').write('evil\\n')"`);
    expect(answer).toMatch(RENAMED_OR_KEPT_OUT);
    expect(existsSync(join(workspace.root, "sub/.envrc"))).toBe(false);
  });

  test("a folder that can be listed and not entered does not keep the rest from being judged", async () => {
    await using workspace = await createStand();
    await using commands = commandTools(setting, workspace.root, options);
    const line = "python3 copy.py sub/aa/n && python3 copy.py other/zz evil && python3 close.py 600 sub/aa/n";
    const answer = await commands.use("run_cmd", line).catch((thrown: unknown) => String(thrown));
    await commands.use("run_cmd", "python3 -c pass").catch(() => "");
    expect(existsSync(join(workspace.root, "other/zz")), answer).toBe(true);
    expect(existsSync(join(workspace.root, "other/zz/.git/HEAD"))).toBe(false);
    execFileSync("chmod", ["-R", "u+rwx", "sub"], { cwd: workspace.root });
  });

  test("an index that leads to itself does not keep start-up files from being judged", async () => {
    await using workspace = await createStand();
    execFileSync("git", ["init", "-q"], { cwd: workspace.root });
    symlinkSync("index", join(workspace.root, ".git/index"));
    await using commands = commandTools(setting, workspace.root, options);
    const answer = await commands.use("run_cmd", `python3 -c "open('sub/.envrc', 'w').write('evil')"`);
    expect(answer).toMatch(RENAMED_OR_KEPT_OUT);
    expect(existsSync(join(workspace.root, "sub/.envrc"))).toBe(false);
  });

  test("what lies under many closed folders is judged, or the answer says that it was not", async () => {
    await using workspace = await createStand();
    await using commands = commandTools(setting, workspace.root, options);
    const folders = Array.from(
      { length: 24 },
      (_, level) => `sub/deep${"/d".repeat(level + 1)}`,
    ).toReversed();
    const line = `python3 copy.py ${folders[0]} evil && python3 close.py 0 ${folders.join(" ")}`;
    const answer = await commands.use("run_cmd", line).catch((thrown: unknown) => String(thrown));
    for (const folder of folders.toReversed())
      if (existsSync(join(workspace.root, folder)))
        execFileSync("chmod", ["700", folder], { cwd: workspace.root });
    expect(existsSync(join(workspace.root, folders[0] ?? "")), answer).toBe(true);
    expect(existsSync(join(workspace.root, folders[0] ?? "", ".git/HEAD")), answer).toBe(false);
  });
});
