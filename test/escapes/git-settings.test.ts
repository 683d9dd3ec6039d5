import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { isHarmlessSetting } from "../../src/policy/git-settings.ts";
import type { Workspace } from "../workspace.ts";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

/** As its user would run it, outside. */
const unguarded = (cwd: string, line: string): string => {
  const { stdout, stderr } = spawnSync(GIT, line.split(" ").slice(1), {
    cwd,
    encoding: "utf8",
    timeout: 20_000,
  });
  return `${stdout}${stderr}`;
};

const put = (root: string, path: string, text: string | Buffer, mode = 0o644): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), mode);
};

const configured = (root: string, key: string, value: string): void => void git(root, "config", key, value);

/** Says so wherever it runs: it may have nowhere to write. */
const RAN = "the-program-ran";
const PROGRAM = `#!/bin/sh\necho ${RAN} >&2\nexit 1\n`;

/** Two branches, and programs under the names that git would look for. */
const createTemplate = (root: string): void => {
  git(root, "init", "-q", "-b", "main", ".");
  configured(root, "user.name", "a");
  configured(root, "user.email", "a@b");
  for (const name of ["evil.sh", "git-remote-x/evil", "git-merge-x/evil"]) put(root, name, PROGRAM, 0o755);
  for (const name of ["one", "side", "main"]) {
    if (name === "side") git(root, "checkout", "-q", "-b", "side");
    if (name === "main") git(root, "checkout", "-q", "main");
    put(root, `${name}.txt`, `${name}\n`);
    git(root, "add", "-A");
    git(root, "commit", "-qm", name);
  }
};

const repository = templateOf(createTemplate);

const tools = (setting: Setting, root: string, powers: readonly string[]) =>
  commandTools(setting, root, { allowlist: ["git"], powers, denylist: ["**/.env"], network: true });

/** What the answer or the refusal says. */
const seenIn = async (
  setting: Setting,
  root: string,
  line: string,
  powers: readonly string[],
  tool = "run_cmd" as const,
) => {
  await using commands = tools(setting, root, powers);
  return commands.use(tool, line).catch((thrown: Error) => `refused: ${thrown.message}`);
};

const loseObject = (root: string): void => {
  const id = git(root, "rev-parse", "HEAD:main.txt").trim();
  renameSync(join(root, ".git/objects", id.slice(0, 2), id.slice(2)), join(root, ".git/lost"));
  configured(root, "core.repositoryformatversion", "1");
  configured(root, "extensions.partialClone", "origin");
  configured(root, "remote.origin.promisor", "true");
  configured(root, "remote.origin.url", "foo");
  configured(root, "remote.origin.vcs", "x/evil");
  configured(root, "protocol.x/evil.allow", "always");
};

interface Attack {
  readonly name: string;
  readonly plant: (root: string) => void;
  readonly line: string;
  readonly powers: readonly string[];
}

const ATTACKS: readonly Attack[] = [
  { name: "a helper for missing objects", plant: loseObject, line: "git show HEAD:main.txt", powers: [] },
  {
    name: "the same, with a .gitmodules",
    plant: (root) => {
      loseObject(root);
      put(root, ".gitmodules", "");
    },
    line: "git diff HEAD~1 HEAD",
    powers: [],
  },
  {
    name: "the same, of a sub-command that starts others",
    plant: loseObject,
    line: "git range-diff HEAD~1..HEAD HEAD~1..HEAD",
    powers: [],
  },
  {
    name: "a command that names the signing key",
    plant: (root) => {
      configured(root, "gpg.format", "ssh");
      configured(root, "gpg.ssh.defaultKeyCommand", join(root, "evil.sh"));
    },
    line: "git cherry-pick -S side",
    powers: ["git:write"],
  },
  {
    name: "a format of plans that plans a program",
    plant: (root) => configured(root, "rebase.instructionFormat", `%s%nexec ${join(root, "evil.sh")}`),
    line: "git rebase side",
    powers: ["git:write"],
  },
  {
    name: "a proxy of git's own protocol",
    plant: (root) => {
      configured(root, "core.gitProxy", join(root, "evil.sh"));
      configured(root, "remote.origin.url", "git://example.invalid/x");
    },
    line: "git ls-remote origin",
    powers: ["git:network"],
  },
  {
    name: "a helper of a remote",
    plant: (root) => {
      configured(root, "remote.o2.url", "foo");
      configured(root, "remote.o2.vcs", "x/evil");
    },
    line: "git fetch o2",
    powers: ["git:network", "git:write"],
  },
  {
    name: "an address that is a command",
    plant: (root) => {
      configured(root, "protocol.ext.allow", "always");
      configured(root, "remote.origin.url", `ext::${join(root, "evil.sh")}`);
    },
    line: "git ls-remote origin",
    powers: ["git:network"],
  },
  {
    name: "a merge strategy",
    plant: () => {},
    line: "git cherry-pick --strategy=x/evil side",
    powers: ["git:write"],
  },
  {
    name: "a merge strategy as an argument of its own",
    plant: () => {},
    line: "git cherry-pick -s --strategy x/evil side",
    powers: ["git:write"],
  },
  {
    name: "a merge strategy of a rebase",
    plant: () => {},
    line: "git rebase -s x/evil side",
    powers: ["git:write"],
  },
  {
    name: "a merge strategy among other letters",
    plant: () => {},
    line: "git rebase -qsx/evil side",
    powers: ["git:write"],
  },
];

describe.each(ofThisKernel)("REQ-D24 FAIL-J3 programs that a repository names in $name", (setting) => {
  test.each(casesIn(setting, ATTACKS))("$name does not run: $line", async ({ plant, line, powers }) => {
    await using workspace = await repository();
    plant(workspace.root);
    expect(await seenIn(setting, workspace.root, line, powers)).not.toContain(RAN);
    // Git itself would have run it.
    expect(unguarded(workspace.root, line)).toContain(RAN);
  });

  test.each(
    casesIn(setting, [
      ".git/config",
      ".git/config.worktree",
      ".git/modules/lib/config",
      ".git/worktrees/w/config.worktree",
      "lib/.git/config",
    ]),
  )("a setting that nobody knows, in %s, keeps git from starting others, and is named", async (file) => {
    await using workspace = await repository();
    const { root } = workspace;
    git(root, "worktree", "add", "-q", "--detach", "w");
    git(root, "init", "-q", "lib");
    mkdirSync(join(root, ".git/modules"));
    git(root, "init", "-q", "--bare", ".git/modules/lib");
    mkdirSync(dirname(join(root, file)), { recursive: true });
    appendFileSync(join(root, file), '[hook "x"]\n\tevent = post-commit\n\tcommand = evil\n');
    const seen = await seenIn(setting, root, "git merge --no-edit side", ["git:write"]);
    expect(seen).toContain('its setting "hook.x.event" is not known to be harmless');
    const read = await seenIn(setting, root, "git log -1 --format=%s", []);
    expect(read).toContain(setting.tier === "plain" ? "not known to be harmless" : '"exit_code":0');
    if (setting.tier === "bubblewrap")
      expect(await seenIn(setting, root, "git merge --no-edit side", ["git:write", "git:run"])).toContain(
        '"exit_code":0',
      );
  });

  test("a helper for credentials and a pager are switched off, however they are named", async () => {
    await using server = createServer((_request, response) => {
      response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using workspace = await repository();
    const { root } = workspace;
    configured(root, `credential.http://127.0.0.1:${port}.helper`, `!${join(root, "evil.sh")}`);
    configured(root, "pager.log", join(root, "evil.sh"));
    const line = `git ls-remote http://127.0.0.1:${port}/x`;
    expect(await seenIn(setting, root, line, ["git:network"])).not.toContain(RAN);
    await using commands = tools(setting, root, []);
    const log = commands.use("linux_proc_start with a terminal", "git log -1");
    // In a sandbox, git that starts no other program gets no terminal, and so no pager.
    if (setting.tier !== "plain") return expect(log).rejects.toThrow("cannot have a terminal");
    expect(await log).toContain("main");
    expect(await log).not.toContain(RAN);
  });
});

/** A submodule whose git directory is moved, with a filter that runs when its files are compared. */
const withSubmodule = async (folder: string | Buffer): Promise<Workspace> => {
  const workspace = await repository();
  const { root } = workspace;
  const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(folder)]);
  mkdirSync(path, { recursive: true });
  const inside = (script: string): void =>
    void execFileSync(
      "sh",
      [
        "-c",
        `cd "$(printf '%b' "$1")" && ${script}`,
        "sh",
        path.toString("latin1").replaceAll("\xff", "\\0377"),
      ],
      {
        env: { ...process.env, EVIL: join(root, "evil.sh") },
        stdio: "pipe",
      },
    );
  put(root, "evil.sh", `#!/bin/sh\necho ${RAN} >&2\ncat\n`, 0o755);
  inside(
    "git init -q . && echo a > t && git add . && git -c user.name=a -c user.email=a@b commit -qm a && " +
      "git config filter.zz.clean \"$EVIL\" && echo '* filter=zz' > .git/info/attributes",
  );
  execFileSync("sh", [
    "-c",
    `cd "$1" && git add -f -- "$(printf '%b' "$2")" 2>/dev/null`,
    "sh",
    root,
    Buffer.from(folder).toString("latin1").replaceAll("\xff", "\\0377"),
  ]);
  put(
    root,
    ".gitmodules",
    Buffer.concat([
      Buffer.from('[submodule "s"]\n\tpath = '),
      Buffer.from(folder),
      Buffer.from("\n\turl = x\n\tignore = none\n"),
    ]),
  );
  git(root, "add", ".gitmodules", "evil.sh");
  git(root, "commit", "-qm", "submodule");
  return workspace;
};

const touch = (path: string | Buffer): void =>
  utimesSync(path, 1_000_000, Math.floor(Math.random() * 1_000_000));

describe.each(ofThisKernel)(
  "REQ-D24 FAIL-J3 repositories inside that llmc cannot follow, in $name",
  (setting) => {
    const cases: readonly (readonly [string, (root: string) => void])[] = [
      [
        "a pointer with thousands of line ends",
        (root) => {
          renameSync(join(root, "sub/.git"), join(root, ".git/g"));
          put(root, "sub/.git", `gitdir: ../.git/g${"\n".repeat(5000)}`);
        },
      ],
      [
        "a pointer to a name that is not UTF-8",
        (root) => {
          mkdirSync(join(root, "store"));
          renameSync(
            join(root, "sub/.git"),
            Buffer.concat([Buffer.from(join(root, "store/")), Buffer.from([0xff])]),
          );
          put(root, "sub/.git", Buffer.concat([Buffer.from("gitdir: ../store/"), Buffer.from([0xff, 0x0a])]));
        },
      ],
      [
        "a pointer with a NUL",
        (root) => {
          renameSync(join(root, "sub/.git"), join(root, "store"));
          put(root, "sub/.git", "gitdir: ../store\0junk\n");
        },
      ],
      [
        "a pointer that goes up from where a link leads",
        (root) => {
          mkdirSync(join(root, "far/away/deep"), { recursive: true });
          renameSync(join(root, "sub/.git"), join(root, "far/away/store"));
          git(root, "init", "-q", "--bare", "store");
          symlinkSync("far/away/deep", join(root, "link"));
          put(root, "sub/.git", "gitdir: ../link/../store\n");
        },
      ],
    ];

    test.each(casesIn(setting, cases))("%s: its filter does not run", async (_name, move) => {
      await using workspace = await withSubmodule("sub");
      const { root } = workspace;
      move(root);
      for (const line of ["git status", "git diff"]) {
        touch(join(root, "sub/t"));
        expect(await seenIn(setting, root, line, []), line).not.toContain(RAN);
      }
      touch(join(root, "sub/t"));
      expect(unguarded(root, "git status")).toContain(RAN);
    });

    test.each(
      casesIn(setting, [
        ["a folder whose name is not UTF-8", Buffer.from([0x6e, 0xff])],
        ["a submodule in the state folder", Buffer.from(".llmc/sub")],
      ] as const),
    )("%s: its filter does not run", async (_name, folder) => {
      await using workspace = await withSubmodule(folder);
      const { root } = workspace;
      const file = Buffer.concat([Buffer.from(`${root}/`), folder, Buffer.from("/t")]);
      touch(file);
      expect(await seenIn(setting, root, "git status", [])).not.toContain(RAN);
      touch(file);
      expect(unguarded(root, "git status")).toContain(RAN);
    });

    test("what leads nowhere, or is no pointer at all, is in nobody's way", async () => {
      await using workspace = await repository();
      const { root } = workspace;
      put(root, "gone/.git", "gitdir: ../nowhere\n");
      put(root, "text/.git", "some text\n");
      mkdirSync(join(root, "dangling"));
      symlinkSync("nowhere", join(root, "dangling/.git"));
      expect(await seenIn(setting, root, "git log -1 --format=%s", [])).toContain('"exit_code":0');
      if (setting.tier !== "landlock")
        expect(await seenIn(setting, root, "git merge --no-edit side", ["git:write"])).toContain(
          '"exit_code":0',
        );
      expect(existsSync(join(root, "side.txt"))).toBe(setting.tier !== "landlock");
    });
  },
);

describe.each(ofThisKernel)("FAIL-J6 REQ-D24 more settings than can be checked, in $name", (setting) => {
  test.each([
    [
      "programs",
      1001,
      (at: number) => `[filter "f${at}"]\n\tclean = x\n`,
      /more than 1000 of its settings name programs/,
    ],
    ["settings", 20_001, () => "[color]\n\ta = 1\n", /more than 20000 settings/],
  ])("%s: git says why it does not run", async (_what, count, line, reason) => {
    await using workspace = await repository();
    appendFileSync(
      join(workspace.root, ".git/config"),
      Array.from({ length: count }, (_line, at) => line(at)).join(""),
    );
    expect(await seenIn(setting, workspace.root, "git status --short", [])).toMatch(reason);
  });
});

test("REQ-D24 of the settings of this machine's git, none that names a program counts as harmless", () => {
  const keys = git("/", "help", "--config-for-completion").trim().split("\n");
  expect(keys.length).toBeGreaterThan(300);
  const programs = keys
    .map((key) => key.toLowerCase().replaceAll(/<[^>]*>|\*/g, "x"))
    .filter((key) => /(command|cmd|program|hook|vcs|tunnel|httpd|external|gitproxy|templatedir)$/.test(key))
    // Advice, and what sub-commands read that take `git:run`.
    .filter((key) => !/^(sendemail|advice|mergetool|difftool)\./.test(key));
  expect(programs).toContain("core.gitproxy");
  expect(programs.filter((key) => isHarmlessSetting(key, "x"))).toEqual([]);
});
