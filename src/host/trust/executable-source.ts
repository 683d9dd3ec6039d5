import { createHash } from "node:crypto";
import { type Dirent, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { type Digests, readBeginning, readRegular, sha256 } from "./trusted-modules.ts";

/** A script that may become a tool; what it says about itself is not read yet. */
export interface FoundExecutable {
  /** Its name in the folder. */
  readonly file: string;
  /** Real path. */
  readonly path: string;
  /** The beginning of its text. */
  readonly head: string;
  /** The text of the file beside it that describes it. */
  readonly sidecar: string | undefined;
}

export interface LeftOut {
  readonly file: string;
  readonly reason: string;
  readonly isUntrusted: boolean;
}

/** Names of a folder's files; a description lies beside its script, under the name with this at its end. */
const SIDECAR = ".json";
const MAX_FILES = 1000;
const MAX_HEAD_BYTES = 64 * 1024;

const bytesByName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1;

const badEntry = (name: string, why: string): Error => new Error(`${quoteForMessage(name)} is ${why}`);

/**
 * Every file below the folder. A link, a pipe or the like makes the whole folder unusable: an interpreter would follow it
 * beside a script, and nobody has reviewed what is behind it.
 */
const filesBelow = async (folder: string): Promise<readonly string[]> => {
  const files: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries: Dirent[] = await readdir(path, { withFileTypes: true });
    for (const entry of entries.sort(bytesByName)) {
      const inside = join(path, entry.name);
      if (entry.isDirectory()) await visit(inside);
      else if (!entry.isFile())
        throw badEntry(relative(folder, inside), entry.isSymbolicLink() ? "a link" : "not a file");
      else files.push(inside);
      if (files.length > MAX_FILES) throw new Error(`the folder has over ${MAX_FILES} files`);
    }
  };
  await visit(folder);
  return files;
};

/** Digests of everything that a script of this folder could load. */
export const digestExecutables = async (folder: string): Promise<Digests> => {
  const real = realpathSync.native(folder);
  const files = await filesBelow(real);
  return Object.fromEntries(files.map((path) => [relative(real, path), sha256(readRegular(path))]));
};

/** Changes whenever a file does: nobody can set back the time of the last change of state. */
const stateOf = async (folder: string): Promise<string> => {
  const hash = createHash("sha256");
  for (const path of await filesBelow(folder)) {
    const { dev, ino, size, ctimeNs, mode } = statSync(path, { bigint: true });
    hash.update(`${path}\0${dev}:${ino}:${size}:${ctimeNs}:${mode}\0`);
  }
  return hash.digest("hex");
};

/** The first file that is not as it was granted. */
const findChanged = (granted: Digests, now: Digests): string | undefined =>
  [...Object.keys(now), ...Object.keys(granted)].find((file) => granted[file] !== now[file]);

const untrusted = (file: string, granted: Digests, now: Digests): LlmcError => {
  const how =
    granted[file] === undefined
      ? "was not there"
      : now[file] === undefined
        ? "is gone, and was there"
        : "had different content";
  return new LlmcError(
    "forbidden",
    `${quoteForMessage(file)} in the folder of executables ${how} when this workspace was trusted.`,
    { hint: "The user looks at it, then runs llmc trust." },
  );
};

const isExecutable = (path: string): boolean => (statSync(path).mode & 0o111) !== 0;

const readScript = (folder: string, path: string, names: ReadonlySet<string>): FoundExecutable => {
  const file = relative(folder, path);
  const sidecar = names.has(`${file}${SIDECAR}`) ? readRegular(`${path}${SIDECAR}`) : undefined;
  if (sidecar !== undefined && sidecar.length > MAX_HEAD_BYTES)
    throw new Error(`its description is over ${MAX_HEAD_BYTES} bytes`);
  // A compiled program may be large, and says what it is at its beginning or in its sidecar.
  const head = readBeginning(path, MAX_HEAD_BYTES).toString("utf8");
  return { file, path, head, sidecar: sidecar?.toString("utf8") };
};

const messageOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return "unknown reason";
  if (thrown instanceof LlmcError || !("code" in thrown)) return thrown.message;
  return thrown.code === "ENOENT" ? "there is no such folder" : String(thrown.code);
};

/**
 * The scripts of a folder. The operator's own are taken as they are; those that a workspace brings (`digests`) only if the
 * whole folder is as it was granted, when they are listed and again before each run. What a running command may have
 * written (`mayHaveWritten`) waits until that was checked.
 */
export const createExecutableSource = (
  digests: (path: string) => Digests | undefined,
  mayHaveWritten: (path: string) => boolean = () => false,
) => {
  let listed: string | undefined;
  let verified: { readonly state: string; readonly granted: Digests } | undefined;
  let isWaiting = false;

  const check = async (folder: string): Promise<void> => {
    const granted = digests(folder);
    if (granted === undefined) {
      if (!mayHaveWritten(folder)) return;
      isWaiting = true;
      throw new LlmcError("busy", "A command that is running may have written the folder of executables.", {
        hint: "Try again when it has ended.",
      });
    }
    const state = await stateOf(folder);
    if (verified?.state === state && verified.granted === granted) return;
    const now = await digestExecutables(folder);
    const changed = findChanged(granted, now);
    if (changed !== undefined) throw untrusted(changed, granted, now);
    verified = { state, granted };
  };

  return {
    list: async (
      written: string,
    ): Promise<{ readonly found: readonly FoundExecutable[]; readonly leftOut: readonly LeftOut[] }> => {
      listed = undefined;
      const found: FoundExecutable[] = [];
      const leftOut: LeftOut[] = [];
      try {
        const folder = realpathSync.native(written);
        listed = await stateOf(folder);
        await check(folder);
        const top = (await filesBelow(folder)).filter((path) => !relative(folder, path).includes("/"));
        const names = new Set(top.map((path) => relative(folder, path)));
        for (const path of top) {
          const file = relative(folder, path);
          const isDescription = file.endsWith(SIDECAR) && names.has(file.slice(0, -SIDECAR.length));
          if (isDescription) continue;
          const isDescribed = names.has(`${file}${SIDECAR}`);
          if (!isExecutable(path) && !isDescribed) continue;
          try {
            if (!isExecutable(path)) throw new Error("it is not executable (chmod +x)");
            found.push(readScript(folder, path, names));
          } catch (thrown) {
            leftOut.push({ file, reason: messageOf(thrown), isUntrusted: false });
          }
        }
      } catch (thrown) {
        const isUntrusted = thrown instanceof LlmcError && thrown.code === "forbidden";
        leftOut.push({ file: "(all)", reason: messageOf(thrown), isUntrusted });
      }
      return { found, leftOut };
    },
    /** Throws unless everything in the folder is what was granted. */
    check: async (path: string): Promise<void> => {
      try {
        await check(path);
      } catch (thrown) {
        if (thrown instanceof LlmcError) throw thrown;
        throw new LlmcError(
          "unavailable",
          `The folder of executables cannot be used: ${messageOf(thrown)}.`,
          {
            hint: "The operator looks at it, then runs llmc trust.",
            retryable: false,
          },
        );
      }
    },
    hasChanged: async (written: string): Promise<boolean> => {
      try {
        return (await stateOf(realpathSync.native(written))) !== listed;
      } catch {
        return listed !== undefined;
      }
    },
    /** Whether something was left out since this was last asked, because a command may have written it. */
    wasWaiting: (): boolean => {
      const was = isWaiting;
      isWaiting = false;
      return was;
    },
  };
};
