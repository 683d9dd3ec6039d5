import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** How a workspace may bring a state folder of its own. */
export const FOREIGN_STATES = ["a link", "a folder with databases and a token"] as const;

export const FOREIGN_TOKEN = "a-token-that-the-workspace-brought";

const plantState = (root: string, outside: string, kind: (typeof FOREIGN_STATES)[number]): void => {
  const folder = kind === "a link" ? join(outside, "state-elsewhere") : join(root, ".llmc");
  mkdirSync(folder, { recursive: true });
  if (kind === "a link") symlinkSync(folder, join(root, ".llmc"));
  for (const name of ["state.db", "index.db", "locks.db", "kb.db"]) {
    const database = new DatabaseSync(join(folder, name));
    database.exec("CREATE TABLE handles (id TEXT, text TEXT); CREATE TABLE meta (key TEXT, value TEXT);");
    database.exec("INSERT INTO handles VALUES ('h_planted', 'planted by the workspace');");
    database.close();
  }
  writeFileSync(join(folder, "token"), FOREIGN_TOKEN);
};

/** Hooks, filters and programs of a repository that a clone cannot bring, but an archive can. */
const plantGit = (root: string, fire: string): void => {
  const git = (...args: readonly string[]): void => {
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: root, stdio: "pipe" });
  };
  git("init", "-q", "-b", "main");
  git("add", "a.txt");
  git("commit", "-qm", "one");
  for (const name of ["pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman"]) {
    writeFileSync(join(root, ".git/hooks", name), `#!/bin/sh\n${fire}\n`);
    chmodSync(join(root, ".git/hooks", name), 0o755);
  }
  git("config", "core.fsmonitor", `${fire}; false`);
  git("config", "filter.evil.clean", `${fire}; cat`);
  git("config", "filter.evil.smudge", `${fire}; cat`);
  git("config", "diff.evil.textconv", `${fire}; cat`);
  git("config", "diff.external", fire);
  git("config", "alias.st", `!${fire}`);
  writeFileSync(join(root, ".gitattributes"), "* filter=evil diff=evil\n");
};

/** A repository in the work tree whose common directory lies elsewhere, and names programs there. */
const plantCommonDirectory = (root: string, outside: string, fire: string): void => {
  const common = join(outside, "common");
  for (const folder of [join(root, "sub/.git"), join(common, "objects"), join(common, "refs")])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, "sub/.git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(root, "sub/.git/commondir"), `${common}\n`);
  writeFileSync(join(common, "config"), `[core]\n\tfsmonitor = ${fire}; false\n`);
};

/** What would make whoever reads it wait, or never end. */
const plantIgnoreFiles = (root: string): void => {
  mkdirSync(join(root, "deep"));
  execFileSync(
    "mkfifo",
    [".gitignore", ".rgignore", "deep/.gitignore"].map((name) => join(root, name)),
  );
  symlinkSync("/dev/zero", join(root, ".ignore"));
  symlinkSync("/dev/zero", join(root, "deep/.ignore"));
};

/** All that a workspace can bring besides its `llmc.toml`. `mark` is made by whatever of it is run. */
export const plantHostile = (root: string, mark: string, state: (typeof FOREIGN_STATES)[number]): void => {
  const fire = `touch ${mark}`;
  plantState(root, dirname(mark), state);
  plantGit(root, fire);
  plantCommonDirectory(root, dirname(mark), fire);
  plantIgnoreFiles(root);
};
