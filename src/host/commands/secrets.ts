import { posix } from "node:path";
import type { Denylist } from "../../policy/denylist.ts";
import { createNameParser } from "../search/records.ts";
import { findRipgrep, runRipgrep } from "../search/ripgrep.ts";

interface SecretScan {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly denies: Denylist;
}

/** A list this old is made anew before the next command; a secret that appeared meanwhile was not there for long. */
const FRESH_MS = 10_000;
const SCAN_MS = 5000;
/** As many are hidden from a command; a workspace with more has its denylist set too wide. */
const MAX_HIDDEN = 1500;

const NAMES = [
  "--files",
  "--null",
  "--hidden",
  "--no-ignore",
  "--no-config",
  "--no-messages",
  "--glob=!.git",
];

const scan = async ({ roots, denies }: SecretScan): Promise<readonly string[]> => {
  const rgPath = await findRipgrep();
  const found = new Set<string>();
  for (const root of roots) {
    const take = createNameParser((name) => {
      const path = posix.join(root, name.toString());
      if (found.size < MAX_HIDDEN && denies(path, roots)) found.add(path);
    });
    await runRipgrep({ rgPath, args: NAMES, cwd: root, timeoutMs: SCAN_MS, signal: undefined, take });
  }
  return [...found];
};

/** Files whose content no tool returns, found in the roots so that commands can be kept from them too. */
export const createSecretFinder = (current: () => SecretScan) => {
  let last:
    | { readonly at: number; readonly key: string; readonly paths: Promise<readonly string[]> }
    | undefined;
  return (): Promise<readonly string[]> => {
    const wanted = current();
    const key = wanted.roots.join("\0");
    const now = performance.now();
    if (last === undefined || last.key !== key || now - last.at > FRESH_MS) {
      last = { at: now, key, paths: scan(wanted) };
      last.paths.catch(() => {
        last = undefined;
      });
    }
    return last.paths;
  };
};
