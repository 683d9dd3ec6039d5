import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { casesIn, GIT, ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const MARK = "llmc-was-here";

const put = (root: string, path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

/** A directory that git takes for a repository if its common directory completes it: a clone can bring one. */
const halfRepository = (root: string, commondir: string): void => {
  put(root, "vendor/r/HEAD", "ref: refs/heads/x\n");
  put(root, "vendor/r/commondir", commondir);
  put(root, "vendor/r/config.worktree", "[core]\n\tworktree = ..\n\tbare = false\n");
};

const HARMLESS = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n";

const otherHalf = (root: string, path: string): void => {
  for (const name of ["objects", "refs"]) put(root, `${path}/${name}/x`, "");
  put(root, `${path}/config`, HARMLESS);
};

interface Case {
  readonly name: string;
  readonly plant: (root: string) => void;
  /** Where the command writes the other half. */
  readonly target: string;
  /** What the command does after that, in Python. */
  readonly afterwards?: string;
}

const CASES: readonly Case[] = [
  {
    name: "does not exist yet",
    target: "vendor/common",
    plant: (root) => halfRepository(root, "../common\n"),
  },
  {
    name: "is behind a link to nothing",
    target: "vendor/m/common",
    plant: (root) => {
      halfRepository(root, "../l/common\n");
      symlinkSync("m", join(root, "vendor/l"));
    },
  },
  {
    name: "is behind a link that the command replaces",
    target: "x/evil/common",
    afterwards: 'os.unlink("lk/l"); os.symlink("../x/evil", "lk/l")',
    plant: (root) => {
      halfRepository(root, "../../lk/l/common\n");
      otherHalf(root, "good/common");
      mkdirSync(join(root, "lk"));
      symlinkSync("../good", join(root, "lk/l"));
    },
  },
  {
    name: "is above where a link leads that the command replaces",
    target: "x/common",
    afterwards: 'os.makedirs("x/evil"); os.unlink("lk"); os.symlink("x/evil", "lk")',
    plant: (root) => {
      halfRepository(root, "../../lk/../common\n");
      otherHalf(root, "good/common");
      mkdirSync(join(root, "good/inner"));
      symlinkSync("good/inner", join(root, "lk"));
    },
  },
  {
    name: "is above a folder that does not exist yet",
    target: "z/common",
    afterwards: 'os.makedirs("z/deep"); os.symlink("z/deep", "nodir")',
    plant: (root) => halfRepository(root, "../../nodir/../common\n"),
  },
  {
    name: "is named before 5,000 line ends",
    target: "c/common",
    plant: (root) => {
      halfRepository(root, `../../c/common${"\n".repeat(5000)}`);
      otherHalf(root, "c/common");
    },
  },
  {
    name: "includes a file above where a link leads that the command replaces",
    target: "x",
    afterwards: 'os.makedirs("x/evil"); os.unlink("lk"); os.symlink("x/evil", "lk")',
    plant: (root) => {
      halfRepository(root, "../../c/common\n");
      otherHalf(root, "c/common");
      put(root, "c/common/config", `${HARMLESS}[include]\n\tpath = ../../lk/../config\n`);
      put(root, "good/config", "");
      mkdirSync(join(root, "good/inner"));
      symlinkSync("good/inner", join(root, "lk"));
    },
  },
];

const attack = (root: string, { target, afterwards = "pass" }: Case): string => `
import os
def attempt(work):
    try: work()
    except OSError: pass
for name in ["objects", "refs"]:
    attempt(lambda: os.makedirs("${target}/" + name))
attempt(lambda: open("${target}/config", "w").write('''${HARMLESS}[core]
\tfsmonitor = "touch ${root}/${MARK};false"
'''))
try:
    ${afterwards}
except OSError: pass
`;

const userRunsGit = (root: string): void => {
  try {
    execFileSync(GIT, ["status", "--short"], { cwd: join(root, "vendor/r"), stdio: "ignore" });
  } catch {
    // Whatever git says: only what it started counts.
  }
};

/** Spellings of one included file, as git reads them. What is not clear refuses whatever could write it. */
const SPELLINGS: readonly (readonly [name: string, config: string, target: string])[] = [
  ["usual", "[include]\n\tpath = ../../x/inc\n", "x/inc"],
  ["after a name without a section", "x\n[include]\n\tpath = ../../x/inc\n", "x/inc"],
  ["with a tab", "[include]\n\tpath = ../../x/in\tc\n", "x/in c"],
  ["with a zero byte", "[include]\n\tpath = ../../x/inc\0z\n", "x/inc"],
  ["with a zero byte in its section", '[include "path\0"]\n\tx = ../../x/inc\n', "x/inc"],
  ["before a space of another kind", "[include]\n\tpath = ../../x/inc\u00a0\n", "x/inc\u00a0"],
  ["before a vertical tab", "[include]\n\tpath = ../../x/inc\v\n", "x/inc\v"],
];

const withInclude = (root: string, config: string): void => {
  halfRepository(root, "../../c/common\n");
  otherHalf(root, "c/common");
  writeFileSync(join(root, "c/common/config"), `${config}${HARMLESS}`);
  mkdirSync(join(root, "x"));
};

test.each(SPELLINGS)(
  "REQ-D24 FAIL-J3 file tools write nothing that a repository of any name includes, %s",
  async (_name, config, target) => {
    const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
    withInclude(app.root, config);
    for (const [tool, args] of [
      ["linux_fs_write", { path: target, content: "x" }],
      ["linux_fs_copy", { source: "c/common/config", target }],
    ] as const)
      expect(await app.errorCode(tool, args), tool).toMatch(/INVALID_PATH|PERMISSION_DENIED/);
    expect(existsSync(join(app.root, target))).toBe(false);
  },
);

test("FAIL-J3 what is planted would run, if nothing held it", async () => {
  await using workspace = await createWorkspace({});
  const [first] = CASES;
  if (first === undefined) throw new Error("there are cases");
  first.plant(workspace.root);
  put(workspace.root, "attack.py", attack(workspace.root, first));
  execFileSync("python3", ["attack.py"], { cwd: workspace.root });
  userRunsGit(workspace.root);
  expect(existsSync(join(workspace.root, MARK))).toBe(true);
});

describe.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
  "REQ-D24 FAIL-J3 a common directory, in $name",
  (setting) => {
    test.each(casesIn(setting, SPELLINGS))(
      "whose configuration includes a file, %s",
      async (_name, config, target) => {
        await using workspace = await createWorkspace({});
        withInclude(workspace.root, config);
        put(workspace.root, "attack.py", `open(${JSON.stringify(target)}, "w").write("[core]\\n")`);
        await using commands = commandTools(setting, workspace.root, {
          allowlist: ["python3"],
          powers: [],
          denylist: [],
        });
        await commands.use("run_cmd", "python3 attack.py").catch(() => {});
        expect(existsSync(join(workspace.root, target))).toBe(false);
      },
    );

    test("or a start-up file or configuration behind a name that is not UTF-8 refuses commands that write", async () => {
      const name = Buffer.from([0x76, 0xff]);
      for (const link of [".envrc", "llmc.toml"]) {
        await using workspace = await createWorkspace({ "attack.py": "" });
        symlinkSync(name, join(workspace.root, link));
        await using commands = commandTools(setting, workspace.root, {
          allowlist: ["python3"],
          powers: [],
          denylist: [],
          startup: [".envrc"],
        });
        await expect(commands.use("run_cmd", "python3 attack.py"), link).rejects.toMatchObject({
          code: "forbidden",
          message: expect.stringContaining("not UTF-8"),
        });
      }
    });

    test.each(casesIn(setting, CASES))("that $name", async (one) => {
      await using workspace = await createWorkspace({});
      one.plant(workspace.root);
      put(workspace.root, "attack.py", attack(workspace.root, one));
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["python3"],
        powers: [],
        denylist: [],
      });
      await commands.use("run_cmd", "python3 attack.py").catch(() => {});
      userRunsGit(workspace.root);
      expect(existsSync(join(workspace.root, MARK))).toBe(false);
    });
  },
);
