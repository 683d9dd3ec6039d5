import { existsSync, lstatSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { compileDenylist } from "../../policy/denylist.ts";
import { findSystemProgram } from "../os/system-programs.ts";
import { createCommandRunner } from "../run/runner.ts";
import { NOT_UTF8 } from "../search/source-files.ts";
import { createGitObjects } from "./git-objects.ts";
import { startGit } from "./git-process.ts";
import type { SourceTree, TreeFile, TreeOptions } from "./source-tree.ts";

const MAX_LIST_BYTES = 64 * 1024 * 1024;
const GIT_MS = 60_000;

/** A few objects can name each other to become millions of files. */
const tooManyFiles = (): LlmcError =>
  new LlmcError("file_too_large", "The commit has more files than can be listed.", {
    hint: "Name a folder that holds what is wanted.",
  });

/** A name of a commit: it goes to git as an argument. */
export const REVISION = /^\w[\w./@^~-]{0,200}$/;

export const findGit = (): string => {
  const program = findSystemProgram("git");
  if (program !== undefined) return program;
  throw new LlmcError("unavailable", "git is not installed.");
};

const isFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The folder with the objects. A pointer to one elsewhere is not followed: it could lead to any repository of the user. */
const findGitDir = (path: string): string => {
  const named = resolve(path);
  const folder = existsSync(named) ? realpathSync.native(named) : named;
  const found = [join(folder, ".git"), folder].find((one) => isFolder(one) && isFolder(join(one, "objects")));
  if (found !== undefined && !existsSync(join(found, "commondir"))) return found;
  throw new LlmcError(
    "invalid_args",
    `${quoteForMessage(path)} is not a git repository with objects of its own.`,
    {
      hint: "Of a work tree or a submodule, name the repository that it belongs to.",
    },
  );
};

interface Entry extends TreeFile {
  readonly id: string;
}

/** `MODE blob ID SIZE\tPATH`; links and submodules are no files. */
const ENTRY = /^100\d{3} blob ([0-9a-f]{40,64}) +(\d+)\t(.+)$/s;

const entriesOf = (listing: Buffer): Entry[] =>
  listing
    .toString("utf8")
    .split("\0")
    .flatMap((line) => {
      const [, id, size, path] = ENTRY.exec(line) ?? [];
      if (id === undefined || path === undefined) return [];
      return [{ id, size: Number(size), path }];
    });

/** Left out as in a folder. */
const isHidden = (path: string): boolean => /(?:^|\/)\./.test(path);

const unknownRevision = (revision: string): LlmcError =>
  new LlmcError("invalid_args", `The repository has no commit ${quoteForMessage(revision)}.`);

/** A commit of a local repository, read without a work tree: nothing is checked out, so nothing is filtered or hooked. */
export const openGitTree = async (
  path: string,
  revision: string,
  { denylist, maxFiles }: TreeOptions,
): Promise<SourceTree> => {
  const program = findGit();
  if (!REVISION.test(revision)) throw unknownRevision(revision);
  const gitDir = findGitDir(path);
  const runner = createCommandRunner({ mode: () => "auto" });
  const run = async (args: readonly string[]): Promise<Buffer | undefined> => {
    const git = await startGit(runner, program, { gitDir, args });
    const parts: Buffer[] = [];
    let bytes = 0;
    let isTooMuch = false;
    const giveUp = (): void => {
      isTooMuch = true;
      void git.kill();
    };
    const timer = setTimeout(giveUp, GIT_MS);
    git.onData((chunk) => {
      bytes += chunk.length;
      if (bytes > MAX_LIST_BYTES) giveUp();
      else parts.push(chunk);
    });
    const code = await git.ended.finally(() => clearTimeout(timer));
    if (isTooMuch) throw tooManyFiles();
    return code === 0 ? Buffer.concat(parts) : undefined;
  };
  try {
    const listing = await run(["ls-tree", "-r", "-z", "-l", "--full-tree", revision]);
    if (listing === undefined) throw unknownRevision(revision);
    const isWithheld = compileDenylist(denylist);
    const entries = entriesOf(listing).filter(
      (entry) => !isHidden(entry.path) && !isWithheld(`/${entry.path}`, ["/"]),
    );
    const tags = await run([
      "for-each-ref",
      `--points-at=${revision}`,
      "--format=%(refname:short)",
      "refs/tags",
    ]);
    const versions = tags
      ?.toString("utf8")
      .split("\n")
      .flatMap((tag) => /^v?(\d+\.\d+[\w.+-]*)$/.exec(tag)?.[1] ?? []);
    const known = new Map(entries.map((entry) => [entry.path, entry]));
    const objects = createGitObjects(() =>
      startGit(runner, program, { gitDir, args: ["cat-file", "--batch"] }),
    );
    const failures =
      entries.length > maxFiles
        ? [
            {
              path: ".",
              error: new LlmcError(
                "file_too_large",
                `The commit has more than ${maxFiles} files; the rest was left out.`,
              ),
            },
          ]
        : [];
    return {
      files: entries.slice(0, maxFiles).map(({ path: name, size }) => ({ path: name, size })),
      failures,
      version: versions?.at(-1),
      read: async (name, maxBytes, signal) => {
        const entry = known.get(name);
        if (entry === undefined) return { kind: "gone" };
        // It has no id that stays the same.
        if (name.includes(NOT_UTF8)) return { kind: "unnamed" };
        return entry.size > maxBytes ? { kind: "large" } : objects.read(entry.id, maxBytes, signal);
      },
      [Symbol.asyncDispose]: async () => {
        await objects.close();
        await runner[Symbol.asyncDispose]();
      },
    };
  } catch (thrown) {
    await runner[Symbol.asyncDispose]();
    throw thrown;
  }
};
