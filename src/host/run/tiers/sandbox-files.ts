import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findSystemProgram, SYSTEM_PATH } from "../../os/system-programs.ts";
import { seccompProgram } from "./seccomp.ts";

const TIMEOUT_MS = 2000;

const ask = async (key: string): Promise<string> => {
  try {
    // The user's own configuration, asked outside every workspace.
    const { stdout } = await promisify(execFile)("git", ["config", "--global", "--get", key], {
      cwd: "/",
      timeout: TIMEOUT_MS,
      maxBuffer: 4096,
      env: { HOME: homedir(), PATH: SYSTEM_PATH.join(":"), GIT_TERMINAL_PROMPT: "0" },
    });
    return stdout.trim();
  } catch {
    return "";
  }
};

const quoted = (value: string): string => `"${value.replace(/[\\"]/g, "\\$&").replace(/[\n\r\0]/g, " ")}"`;

/**
 * The name and e-mail that a commit bears, as a configuration file of its own: nothing else of the user's configuration
 * is used.
 */
const gitIdentityConfig = async (): Promise<string> => {
  const [name, email] = await Promise.all([ask("user.name"), ask("user.email")]);
  const lines = [
    ...(name === "" ? [] : [`\tname = ${quoted(name)}`]),
    ...(email === "" ? [] : [`\temail = ${quoted(email)}`]),
  ];
  return lines.length === 0 ? "" : `[user]\n${lines.join("\n")}\n`;
};

/** A folder of one run, for its home and temporary files where the tier has no memory file system. */
export interface SandboxFiles {
  readonly folder: string;
  readonly home: string;
  readonly temp: string;
  readonly emptyFile: string;
  /** Nobody may open it. */
  readonly closedFile: string;
  /** The user's name and e-mail for git. */
  readonly gitIdentityFile: string;
  readonly passwdFile: string;
  readonly groupFile: string;
  /** By whether the command may start other programs. */
  readonly filters: Readonly<Record<"free" | "alone", string | undefined>>;
  readonly prlimit: string | undefined;
  /** Compiled code of our own launcher. */
  readonly compileCache: string;
}

/** Whether git runs, and may write: then the user's name is read anew, since they may just have set it. */
export type GitUse = "reads" | "writes";

const account = (): { readonly uid: number; readonly gid: number } => ({
  uid: process.getuid?.() ?? 65534,
  gid: process.getgid?.() ?? 65534,
});

/** Whose files these are, without the names of the machine's users. */
const passwdText = (): string => {
  const { uid, gid } = account();
  const own = uid === 65534 ? "" : `user:x:${uid}:${gid}:user:/tmp/home:/bin/sh\n`;
  return `${own}nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`;
};

const groupText = (): string => {
  const { gid } = account();
  return `${gid === 65534 ? "" : `user:x:${gid}:\n`}nogroup:x:65534:\n`;
};

/** Files that every run shares, made once, and a folder for each run. */
export type SandboxFileStore = Awaited<ReturnType<typeof createSandboxFileStore>>;

export const createSandboxFileStore = async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "llmc-commands-")));
  const put = async (name: string, content: string | Buffer, mode = 0o444): Promise<string> => {
    await writeFile(join(base, name), content, { mode });
    return join(base, name);
  };
  const filter = async (name: string, program: Buffer | undefined): Promise<string | undefined> =>
    program === undefined ? undefined : put(name, program);
  const shared = {
    emptyFile: await put("empty", ""),
    closedFile: await put("closed", "", 0o000),
    passwdFile: await put("passwd", passwdText()),
    groupFile: await put("group", groupText()),
    filters: {
      free: await filter("seccomp", seccompProgram({})),
      alone: await filter("seccomp-alone", seccompProgram({ noFork: true })),
    },
    prlimit: findSystemProgram("prlimit"),
    compileCache: join(base, "compiled"),
  };
  let next = 0;
  let identity: { readonly text: string; readonly file: string } | undefined;
  const identityFile = async (git: GitUse | undefined): Promise<string> => {
    if (git === "writes" || (git !== undefined && identity === undefined)) {
      const text = await gitIdentityConfig();
      // Under a new name: a running command may still have the old one mounted.
      if (identity?.text !== text) identity = { text, file: await put(`gitconfig-${next++}`, text) };
    }
    return identity?.file ?? shared.emptyFile;
  };
  return {
    /** The folder that holds all of them. Whoever can write to it controls the sandbox of the next command. */
    base,
    /** Folders are made only where the tier has none in memory: they cost more than a short command. */
    open: async (needsFolders: boolean, git?: GitUse): Promise<SandboxFiles> => {
      const folder = join(base, `run-${next++}`);
      const home = join(folder, "home");
      const temp = join(folder, "tmp");
      for (const path of needsFolders ? [folder, home, temp] : []) await mkdir(path, { mode: 0o700 });
      return { folder, home, temp, gitIdentityFile: await identityFile(git), ...shared };
    },
    close: ({ folder }: SandboxFiles): Promise<void> =>
      rm(folder, { recursive: true, force: true, maxRetries: 2 }),
    dispose: (): Promise<void> => rm(base, { recursive: true, force: true }),
  };
};
