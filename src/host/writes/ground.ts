import { statSync } from "node:fs";
import { posix } from "node:path";
import { compileDenylist } from "../../policy/denylist.ts";
import { judgeReal, pathDenied } from "../../policy/paths.ts";
import { judgeRemoval, judgeWrite, type WriteRules, writeDenied } from "../../policy/writes.ts";
import type { Surroundings } from "../files/explain-failure.ts";
import { canLocateByDescriptor, createLocateByDescriptor } from "../files/locate-by-descriptor.ts";
import { locateByName } from "../files/locate-by-name.ts";
import type { Locate } from "../files/located.ts";
import { cacheByList, createPathRules, realOrFuture } from "../files/path-rules.ts";

export interface GroundOptions {
  readonly workspace: string;
  /** As configured: relative to the workspace or absolute. Asked on every call, since configuration is hot. */
  readonly roots: () => readonly string[];
  /** Files and folders that no caller changes; relative to the workspace or absolute. Asked on every call. */
  readonly protectedPaths: () => readonly string[];
  /** Globs of names whose content is withheld: such files may be created, never changed, moved or removed. */
  readonly denylist: () => readonly string[];
  /** Globs of files that turn into commands later. */
  readonly writeDenylist: () => readonly string[];
  /** Left out: the best way this machine has. */
  readonly locate?: Locate;
  /** Left out: as the system usually does. */
  readonly ignoreCase?: boolean;
}

/** The rules of one call, as they are at its start. The `refuse…` functions throw. */
export interface WriteGround extends Surroundings {
  /** What is found at a real path must be inside and of no concern of ours. */
  refuseOutside(words: string, realPath: string): void;
  /** Before anything is created, changed or removed under a real path. */
  refuseTarget(words: string, realPath: string): void;
  /** Before something is moved away or removed. */
  refuseRemoval(words: string, realPath: string): void;
  isRoot(path: string): boolean;
  /**
   * Withheld by more than a word in its name. A tree of packages always holds some `tokenizer.js.map`, and must still be
   * removable; but not with an `.env` or a key in it.
   */
  isSecret(realPath: string): boolean;
  /** On the write denylist. */
  isGuarded(realPath: string): boolean;
  /** One of the protected files by another name: a hard link, or other letters where case does not count. */
  isProtectedFile(file: { readonly dev: bigint; readonly ino: bigint }): boolean;
  readonly writeRules: WriteRules;
}

const BY_WORD = /^(?:\*\*\/)?\*\p{Letter}+\*$/u;

const isSameThing = (path: string, file: { readonly dev: bigint; readonly ino: bigint }): boolean => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && found.dev === file.dev && found.ino === file.ino;
};

export const createGround = (options: GroundOptions): (() => WriteGround) => {
  const currentRules = createPathRules(options.workspace, options.roots);
  const currentDenylist = cacheByList(options.denylist, compileDenylist);
  const currentSecrets = cacheByList(options.denylist, (globs) =>
    compileDenylist(globs.filter((glob) => !BY_WORD.test(glob))),
  );
  const currentWriteDenylist = cacheByList(options.writeDenylist, compileDenylist);
  const locate = options.locate ?? (canLocateByDescriptor() ? createLocateByDescriptor() : locateByName);
  // Disks that ignore case exist on Linux too, but then an existing file is still known by its inode.
  const ignoreCase = options.ignoreCase ?? (process.platform === "darwin" || process.platform === "win32");

  return () => {
    const rules = currentRules();
    const isDenied = currentDenylist();
    const isNamedSecret = currentSecrets();
    const isWriteDenied = currentWriteDenylist();
    const bases = [rules.workspace, ...rules.roots];
    const written = options.protectedPaths().map((path) => posix.resolve(rules.workspace, path));
    const writeRules: WriteRules = {
      workspace: rules.workspace,
      roots: [...rules.roots, ...rules.writtenRoots],
      // Each by its own name and by where it leads: a configuration file may be a link.
      protectedPaths: [...rules.privateDirs, ...written, ...written.map(realOrFuture)],
      ignoreCase,
    };
    const files = [posix.join(rules.workspace, "llmc.toml"), ...written];
    const refuseOutside: WriteGround["refuseOutside"] = (words, realPath) => {
      const refusal = judgeReal(realPath, rules);
      if (refusal !== undefined) throw pathDenied(words, refusal, rules);
    };
    const isGuarded = (realPath: string): boolean => isWriteDenied(realPath, bases);
    return {
      rules,
      writeRules,
      locate,
      isWithheld: (realPath) => isDenied(realPath, bases),
      isSecret: (realPath) => isNamedSecret(realPath, bases),
      isGuarded,
      isRoot: (path) => path === "/" || writeRules.roots.includes(path),
      isProtectedFile: (file) => files.some((path) => isSameThing(path, file)),
      refuseOutside,
      refuseTarget: (words, realPath) => {
        refuseOutside(words, realPath);
        const refusal = judgeWrite(realPath, writeRules);
        if (refusal !== undefined) throw writeDenied(words, refusal);
        if (isGuarded(realPath)) throw writeDenied(words, "guarded");
      },
      refuseRemoval: (words, realPath) => {
        const refusal = judgeRemoval(realPath, writeRules);
        if (refusal !== undefined) throw writeDenied(words, refusal);
      },
    };
  };
};
