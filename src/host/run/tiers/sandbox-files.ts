import { mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { compileCacheFolder } from "../../os/compile-cache.ts";
import { findSystemProgram } from "../../os/system-programs.ts";
import { renderUserSettings, userFile, userSettings } from "../git/user-settings.ts";
import { removeTree } from "./remove-tree.ts";
import { seccompProgram } from "./seccomp.ts";
import { openServerFolder } from "./server-folder.ts";

/** A folder of one run, for its home and temporary files where the tier has no memory file system. */
export interface SandboxFiles {
  readonly folder: string;
  readonly home: string;
  readonly temp: string;
  readonly emptyFile: string;
  /** Nobody may open it. */
  readonly closedFile: string;
  /** The user's name and e-mail for git, and what else of their settings starts nothing. */
  readonly gitUserFile: string;
  /** The patterns that the user's git ignores everywhere. */
  readonly gitIgnoreFile: string;
  readonly passwdFile: string;
  readonly groupFile: string;
  /** What `localhost` and the machine's own name stand for where the network is off. */
  readonly hostsFile: string;
  /** Asks the files above before anything else. */
  readonly nameSwitchFile: string;
  /** By whether the command may start other programs. */
  readonly filters: Readonly<Record<"free" | "alone", string | undefined>>;
  readonly prlimit: string | undefined;
  /** Compiled code of our own launcher. */
  readonly compileCache: string;
}

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

/** Nothing about other machines: no command without a network could reach them. */
const hostsText = (): string =>
  ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback", `127.0.0.1 ${hostname()}`, ""].join(
    "\n",
  );

/** Without one, older versions of glibc ask the network first and take its silence for an answer. */
const NAME_SWITCH = "passwd: files\ngroup: files\nhosts: files dns\n";

/** Files that every run shares, made once, and a folder for each run. */
export type SandboxFileStore = Awaited<ReturnType<typeof createSandboxFileStore>>;

export const createSandboxFileStore = async (gitFolder?: string) => {
  const { path: base, remove: dispose } = await openServerFolder();
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
    hostsFile: await put("hosts", hostsText()),
    nameSwitchFile: await put("nsswitch.conf", NAME_SWITCH),
    filters: {
      free: await filter("seccomp", seccompProgram({})),
      alone: await filter("seccomp-alone", seccompProgram({ noFork: true })),
    },
    prlimit: findSystemProgram("prlimit"),
    compileCache: compileCacheFolder() ?? join(base, "compiled"),
  };
  let next = 0;
  const kept = new Map<string, { readonly content: string | Buffer; readonly file: string }>();
  /** Under a new name where it has changed: a running command may still have the old one mounted. */
  const putAgain = async (name: string, content: string | Buffer): Promise<string> => {
    const before = kept.get(name);
    if (before !== undefined && Buffer.from(before.content).equals(Buffer.from(content))) return before.file;
    const file = await put(`${name}-${next++}`, content);
    kept.set(name, { content, file });
    return file;
  };
  /** Read anew for each command: the user may just have set their name. */
  const gitFiles = async (isGit: boolean): Promise<Pick<SandboxFiles, "gitUserFile" | "gitIgnoreFile">> => {
    const { emptyFile } = shared;
    if (!isGit) return { gitUserFile: emptyFile, gitIgnoreFile: emptyFile };
    const settings = userSettings(gitFolder);
    const patterns = userFile(settings, "core.excludesfile", "ignore", gitFolder);
    const gitIgnoreFile = patterns === undefined ? emptyFile : await putAgain("gitignore", patterns);
    return {
      gitIgnoreFile,
      gitUserFile: await putAgain("gitconfig", renderUserSettings(settings, gitIgnoreFile)),
    };
  };
  return {
    /** The folder that holds all of them. Whoever can write to it controls the sandbox of the next command. */
    base,
    /** Folders are made only where the tier has none in memory: they cost more than a short command. */
    open: async (needsFolders: boolean, isGit = false): Promise<SandboxFiles> => {
      const folder = join(base, `run-${next++}`);
      const home = join(folder, "home");
      const temp = join(folder, "tmp");
      for (const path of needsFolders ? [folder, home, temp] : []) await mkdir(path, { mode: 0o700 });
      return { folder, home, temp, ...(await gitFiles(isGit)), ...shared };
    },
    close: ({ folder }: SandboxFiles): Promise<void> => removeTree(folder),
    dispose,
  };
};
