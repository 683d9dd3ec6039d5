import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import { foldCase, insideRoots, isState, STATE_DIR, TEMP_NAME } from "./paths.ts";

/**
 * Who acts for a client: the file tools, a command in a sandbox, or git where the operator granted it `git:write`.
 * The index, search and handles read through the file tools' port.
 */
export type Actor = "tools" | "commands" | "git";

/** Files that the server or a program of the user obeys or executes, and files withheld by their names. */
export type ReachId =
  | "state"
  | "user"
  | "pending"
  | "program"
  | "config"
  | "modules"
  | "models"
  | "git"
  | "startup"
  | "secret";

export interface ReachEntry {
  readonly what: string;
  /** Who sees the content. */
  readonly read: readonly Actor[];
  /** Who may change, replace or remove it. */
  readonly write: readonly Actor[];
  /** Who may create a new one; if omitted, whoever may write. */
  readonly create?: readonly Actor[];
  readonly message: string;
  readonly hint: string;
}

const EVERYBODY: readonly Actor[] = ["tools", "commands", "git"];
const BY_HAND = "The operator edits it by hand.";

/**
 * The reach table: who may read and write each kind of sensitive file (REQ-D16, REQ-D24). Every write derives from this
 * table: the file tools and patches ask `judgeWrite`, commands get a sandbox profile made of it. What nobody reads
 * (state, the user's folders, secrets) is closed to reading tools, search and index by the path rules and the denylist.
 */
export const REACH: Readonly<Record<ReachId, ReachEntry>> = {
  state: {
    what: `a workspace's ${STATE_DIR} folder: index, handles, telemetry, audit`,
    read: [],
    write: [],
    message: `belongs to llmc's own state (${STATE_DIR}), which no tool changes.`,
    hint: "Use another path.",
  },
  user: {
    what: "the user's own configuration and state folders of llmc: tokens, trust, grants, keys",
    read: [],
    write: [],
    message: "belongs to the user's own llmc folders, which no tool reaches.",
    hint: "Use another path.",
  },
  pending: {
    what: "a file that is being written, before it gets its name",
    read: [],
    write: [],
    message: "is a temporary file of a write in progress.",
    hint: "Use another path.",
  },
  program: {
    what: "the files that llmc itself runs from, where they lie inside a root",
    read: EVERYBODY,
    write: [],
    message: "belongs to the llmc that is running, which no tool changes.",
    hint: "Install llmc outside the workspace (npm install -g llmc-mcp), or let the operator edit it by hand.",
  },
  config: {
    what: "configuration and policy files",
    read: EVERYBODY,
    write: [],
    message: "is llmc's own configuration, which no tool changes.",
    hint: BY_HAND,
  },
  modules: {
    what: "the folder of custom modules",
    read: EVERYBODY,
    write: [],
    message: "belongs to llmc's custom modules, which no tool changes.",
    hint: BY_HAND,
  },
  models: {
    what: "the folder of a local embedding model",
    read: EVERYBODY,
    write: [],
    message: "belongs to llmc's local model, which no tool changes.",
    hint: BY_HAND,
  },
  git: {
    what: "git directories, under any name, and files that git includes in their configuration",
    read: EVERYBODY,
    write: ["git"],
    message:
      "belongs to a git directory or its configuration, or would make its folder one (HEAD); only git itself changes those.",
    hint: "Use git, if the operator allows it to write (git:write in mcp.tools.command_powers).",
  },
  startup: {
    what: "start-up files of editors, shells, agents and CI, sidecar documents and guides",
    read: EVERYBODY,
    write: ["tools", "git"],
    message: "is a start-up file (mcp.tools.startup_globs), which commands do not change.",
    hint: "Write it with a file tool, such as linux_fs_write.",
  },
  secret: {
    what: "files withheld by name (mcp.tools.denylist_globs)",
    read: [],
    write: [],
    create: EVERYBODY,
    message:
      "is on the denylist (mcp.tools.denylist_globs): what cannot be read is not changed, moved or removed either.",
    hint: "The user has to do it by hand.",
  },
};

/** Entries that are known by where they lie. Absolute real paths, and the names that the operator wrote for them. */
export type ObeyedId = "user" | "program" | "config" | "modules" | "models" | "startup";
export type ObeyedPaths = Readonly<Record<ObeyedId, readonly string[]>>;

export const NO_OBEYED_PATHS: ObeyedPaths = {
  user: [],
  program: [],
  config: [],
  modules: [],
  models: [],
  startup: [],
};

export interface ReachRules {
  /** Real ones, and the names the operator wrote for them. */
  readonly roots: readonly string[];
  readonly workspace: string;
  readonly obeyedPaths: ObeyedPaths;
  readonly isStartup: (realPath: string) => boolean;
  readonly isWithheld: (realPath: string) => boolean;
  /** What a directory holds under a name, as far as git cares; links count as what they are. */
  readonly entryKind: (path: string) => "file" | "directory" | "link" | "other" | undefined;
  /** Files outside git directories that git reads as configuration, as far as repositories around a path say so. */
  readonly gitConfiguration: (path: string) => readonly string[];
}

/** What git itself takes for `.git` on any disk: other letters, and the short name of old Windows disks. */
export const GIT_NAME = /^(?:\.git|git~\d+)$/i;

/** On some disk. */
export const isHeadName = (name: string): boolean => name.length === 4 && name.toLowerCase() === "head";

/** With a valid HEAD, one of these makes a directory git's own (is_git_directory in git's setup.c). */
export const BESIDE_HEAD: readonly string[] = ["objects", "refs", "commondir"];

type EntryKind = ReachRules["entryKind"];

const hasHead = (dir: string, entryKind: EntryKind): boolean => {
  const head = entryKind(posix.join(dir, "HEAD"));
  return head === "file" || head === "link";
};

/**
 * Whether git would take this directory for one of its own, whatever it is called. A `.git` in it does not excuse it:
 * git goes on to the directory itself where that `.git` is not valid.
 */
export const looksLikeGitDirectory = (dir: string, entryKind: EntryKind): boolean =>
  hasHead(dir, entryKind) && BESIDE_HEAD.some((name) => entryKind(posix.join(dir, name)) !== undefined);

/** A git directory may keep all but its HEAD elsewhere, in a directory that has these two. */
const OF_COMMON_DIRECTORY: readonly string[] = ["objects", "refs"];

const isCommonDirectory = (dir: string, entryKind: EntryKind): boolean =>
  OF_COMMON_DIRECTORY.every((name) => entryKind(posix.join(dir, name)) !== undefined);

/** Whether an entry of this name would complete such a directory. */
const completesCommonDirectory = (folder: string, name: string, entryKind: EntryKind): boolean =>
  OF_COMMON_DIRECTORY.includes(name.toLowerCase()) &&
  OF_COMMON_DIRECTORY.some(
    (other) => other !== name.toLowerCase() && entryKind(posix.join(folder, other)) !== undefined,
  );

/**
 * Whether a path is in a git directory, or would make its folder one. A file called HEAD is what every git directory
 * needs, so nobody but git makes one: then no sequence of writes, however interleaved, ends in a new repository.
 */
const isInGitDirectory = (path: string, entryKind: EntryKind): boolean => {
  const name = posix.basename(path);
  if (path.split("/").some((part) => GIT_NAME.test(part))) return true;
  if (isHeadName(name) && entryKind(path) !== "directory") return true;
  const folder = posix.dirname(path);
  if (BESIDE_HEAD.some((beside) => beside === name.toLowerCase()) && hasHead(folder, entryKind)) return true;
  if (completesCommonDirectory(folder, name, entryKind)) return true;
  for (let dir = folder; dir !== "/"; dir = posix.dirname(dir))
    if (looksLikeGitDirectory(dir, entryKind) || isCommonDirectory(dir, entryKind)) return true;
  return false;
};

const folded = new WeakMap<readonly string[], readonly string[]>();

/** A tree of many files is judged by the same lists. */
const foldAll = (paths: readonly string[]): readonly string[] => {
  const known = folded.get(paths) ?? paths.map(foldCase);
  folded.set(paths, known);
  return known;
};

/** The entries that a real path belongs to. */
export const entriesAt = (realPath: string, rules: ReachRules): readonly ReachId[] => {
  const path = foldCase(realPath);
  const isObeyed = (id: ObeyedId): boolean => insideRoots(path, foldAll(rules.obeyedPaths[id]));
  const found: ReachId[] = [];
  if (isState(path)) found.push("state");
  if (TEMP_NAME.test(posix.basename(path))) found.push("pending");
  for (const id of ["user", "program", "config", "modules", "models"] as const)
    if (isObeyed(id)) found.push(id);
  const isGitConfiguration = insideRoots(path, rules.gitConfiguration(realPath).map(foldCase));
  if (isGitConfiguration || isInGitDirectory(realPath, rules.entryKind)) found.push("git");
  if (isObeyed("startup") || rules.isStartup(realPath)) found.push("startup");
  if (rules.isWithheld(realPath)) found.push("secret");
  return found;
};

/** The entry that keeps an actor from making something under a name, or from changing what is there. */
export const judgeWrite = (
  realPath: string,
  actor: Actor,
  rules: ReachRules,
  how: "create" | "change" = "change",
): ReachId | undefined =>
  entriesAt(realPath, rules).find((id) => {
    const { write, create = write } = REACH[id];
    return !(how === "create" ? create : write).includes(actor);
  });

export type WriteRefusal = ReachId | "root" | "holds" | "link" | "obeyed";

/** Whether something may be moved away or removed with all that is in it, as far as names tell. */
export const judgeRemoval = (realPath: string, actor: Actor, rules: ReachRules): WriteRefusal | undefined => {
  const path = foldCase(realPath);
  const holds = (other: string): boolean => insideRoots(foldCase(other), [path]);
  if (path === "/" || holds(rules.workspace) || rules.roots.some(holds)) return "root";
  const refusal = judgeWrite(realPath, actor, rules, "create");
  if (refusal !== undefined) return refusal;
  const isClosed = (id: ObeyedId): boolean => !REACH[id].write.includes(actor);
  const placed = (Object.keys(rules.obeyedPaths) as ObeyedId[]).filter(isClosed);
  const obeyed = [...placed.flatMap((id) => rules.obeyedPaths[id]), ...rules.gitConfiguration(realPath)];
  return obeyed.some(holds) ? "holds" : undefined;
};

const OTHER_REFUSALS = {
  root: {
    message: "is an allowed root or holds one: roots are never changed, moved or removed.",
    hint: "Name something inside the root.",
  },
  holds: {
    message:
      "holds files of llmc's own configuration, state or modules, or of git's, which no tool moves or removes.",
    hint: "Remove or move its entries one by one.",
  },
  obeyed: {
    message:
      "is another name (a hard link) of a file that programs obey; a command that is running would write it in its new place.",
    hint: "The user has to do it by hand.",
  },
  link: {
    message: "is a link that leads to nothing, so nothing is written through it.",
    hint: "Write to its target by name.",
  },
} as const;

/** Quotes the caller's own path only. `inside` is something below it that is the reason. */
export const writeDenied = (requestedPath: string, refusal: WriteRefusal, inside?: string): LlmcError => {
  const { message, hint } =
    refusal in REACH ? REACH[refusal as ReachId] : OTHER_REFUSALS[refusal as keyof typeof OTHER_REFUSALS];
  const where = inside === undefined ? "" : `${quoteForMessage(inside)} in `;
  return new LlmcError("path_denied", `${where}${quoteForMessage(requestedPath)} ${message}`, { hint });
};

/** Of the source of a copy, which would only be read: why it is not, without a word on changing it. */
export const copyDenied = (requestedPath: string, refusal: WriteRefusal): LlmcError => {
  const { message } =
    refusal in REACH ? REACH[refusal as ReachId] : OTHER_REFUSALS[refusal as keyof typeof OTHER_REFUSALS];
  const [reason = ""] = message.split(/[,:;]|\.$/);
  return new LlmcError("path_denied", `${quoteForMessage(requestedPath)} cannot be copied: it ${reason}.`, {
    hint: "Name another source.",
  });
};
