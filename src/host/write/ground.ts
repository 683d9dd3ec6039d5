import { statSync } from "node:fs";
import { compileDenylist } from "../../policy/denylist.ts";
import { judgeReal, pathDenied } from "../../policy/paths.ts";
import { entriesAt, judgeRemoval, judgeWrite, REACH, type ReachId, writeDenied } from "../../policy/reach.ts";
import { cacheByList } from "../reach/path-rules.ts";
import { createReach, type ReachOptions, type Surroundings } from "../reach/reach.ts";

/** The rules of one write, as they are at its start. The `refuse…` functions throw. */
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
  /** The entry of the table that keeps the file tools from changing what lies at a real path; secrets aside. */
  protects(realPath: string): ReachId | undefined;
  /** One of the protected files by another name: a hard link, or other letters where case does not count. */
  isProtectedFile(file: { readonly dev: bigint; readonly ino: bigint }): boolean;
}

const BY_WORD = /^(?:\*\*\/)?\*\p{Letter}+\*$/u;

const isSameThing = (path: string, file: { readonly dev: bigint; readonly ino: bigint }): boolean => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && found.dev === file.dev && found.ino === file.ino;
};

export const createGround = (options: ReachOptions): (() => WriteGround) => {
  const currentReach = createReach(options);
  const currentSecrets = cacheByList(options.denylist, (globs) =>
    compileDenylist(globs.filter((glob) => !BY_WORD.test(glob))),
  );

  return () => {
    const around = currentReach();
    const { rules, reach } = around;
    const isNamedSecret = currentSecrets();
    const bases = [rules.workspace, ...rules.roots];
    const refuseOutside: WriteGround["refuseOutside"] = (words, realPath) => {
      const refusal = judgeReal(realPath, rules);
      if (refusal !== undefined) throw pathDenied(words, refusal, rules);
    };
    return {
      ...around,
      isSecret: (realPath) => isNamedSecret(realPath, bases),
      protects: (realPath) =>
        // Secrets have a rule of their own, and a write under way does not keep a directory alive.
        entriesAt(realPath, reach).find(
          (id) => id !== "secret" && id !== "pending" && !REACH[id].write.includes("tools"),
        ),
      isRoot: (path) => path === "/" || reach.roots.includes(path),
      isProtectedFile: (file) => {
        const { config, modules, models } = reach.places;
        return [...config, ...modules, ...models].some((path) => isSameThing(path, file));
      },
      refuseOutside,
      refuseTarget: (words, realPath) => {
        refuseOutside(words, realPath);
        const refusal = judgeWrite(realPath, "tools", reach, "create");
        if (refusal !== undefined) throw writeDenied(words, refusal);
      },
      refuseRemoval: (words, realPath) => {
        const refusal = judgeRemoval(realPath, "tools", reach);
        if (refusal !== undefined) throw writeDenied(words, refusal);
      },
    };
  };
};
