import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import { insideRoots, STATE_DIR } from "./paths.ts";

/** What no caller changes, whatever the roots. All paths are absolute and normal. */
export interface WriteRules {
  readonly workspace: string;
  /** Real ones, and the names the operator wrote for them. */
  readonly roots: readonly string[];
  /** Files, and folders with all that is in them: the configuration in force, policies, custom modules. */
  readonly protectedPaths: readonly string[];
  /** Whether the system takes `LLMC.TOML` for `llmc.toml`. */
  readonly ignoreCase: boolean;
}

export type WriteRefusal = "config" | "state" | "root" | "holds" | "guarded" | "withheld" | "link";

const CONFIG_FILE = "llmc.toml";

/** Names of files that are being written, before they get their own. */
export const TEMP_NAME = /^\.llmc-tmp-[0-9a-f]{24}$/;

const fold = (path: string, { ignoreCase }: WriteRules): string =>
  ignoreCase ? path.normalize("NFC").toLowerCase() : path;

const protectedOf = (rules: WriteRules): string[] =>
  [posix.join(rules.workspace, CONFIG_FILE), ...rules.protectedPaths].map((path) => fold(path, rules));

/** Whether this program relies on it: then it also stays where it is when a directory around it would go. */
export const judgeOwn = (realPath: string, rules: WriteRules): WriteRefusal | undefined => {
  const path = fold(realPath, rules);
  if (path.split("/").includes(STATE_DIR)) return "state";
  return insideRoots(path, protectedOf(rules)) ? "config" : undefined;
};

/** Whether anything may be created, changed or removed under this name. */
export const judgeWrite = (realPath: string, rules: WriteRules): WriteRefusal | undefined =>
  // A write under way: changing its file before it gets its name would put words into somebody else's mouth.
  TEMP_NAME.test(posix.basename(realPath)) ? "state" : judgeOwn(realPath, rules);

/** Whether something may be moved away or removed with all that is in it, as far as names tell. */
export const judgeRemoval = (realPath: string, rules: WriteRules): WriteRefusal | undefined => {
  const path = fold(realPath, rules);
  const holds = (other: string): boolean => insideRoots(fold(other, rules), [path]);
  if (path === "/" || holds(rules.workspace) || rules.roots.some(holds)) return "root";
  const refusal = judgeWrite(realPath, rules);
  if (refusal !== undefined) return refusal;
  return protectedOf(rules).some(holds) ? "holds" : undefined;
};

const REFUSALS: Record<WriteRefusal, readonly [message: string, hint: string]> = {
  config: [
    "belongs to llmc's own configuration, policies or custom modules, which no tool changes.",
    "The operator edits it by hand.",
  ],
  state: [`belongs to llmc's own state (${STATE_DIR}), which no tool changes.`, "Use another path."],
  root: [
    "is an allowed root or holds one: roots are never changed, moved or removed.",
    "Name something inside the root.",
  ],
  holds: [
    "holds files of llmc's own configuration, state or modules, which no tool moves or removes.",
    "Name what is to go one by one.",
  ],
  guarded: [
    "is on the write denylist (mcp.tools.write_denylist_globs): such files turn into commands later.",
    "The operator edits it by hand.",
  ],
  withheld: [
    "is on the denylist (mcp.tools.denylist_globs): what cannot be read is not changed, moved or removed either.",
    "The user has to do it by hand.",
  ],
  link: [
    "is a link that leads to nothing, so nothing is written through it.",
    "Write to its target by name.",
  ],
};

/** Names the caller's own words only. `inside` is something below them that is the reason. */
export const writeDenied = (words: string, refusal: WriteRefusal, inside?: string): LlmcError => {
  const [message, hint] = REFUSALS[refusal];
  const where = inside === undefined ? "" : `${quoteForMessage(inside)} in `;
  return new LlmcError("path_denied", `${where}${quoteForMessage(words)} ${message}`, { hint });
};
