import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { CONFIG_FILE, isInside } from "../base/paths.ts";
import { quoteForMessage } from "../base/text.ts";
import { type EntryKind, isInGitDirectory } from "./git-directory.ts";
import { foldCase, insideRoots, isState, type PathRefusal, TEMP_NAME } from "./paths.ts";
import {
  type Actor,
  NO_OBEYED_PATHS,
  OBEYED_IDS,
  type ObeyedId,
  type ObeyedPaths,
  REACH,
  type ReachId,
} from "./reach-table.ts";

/**
 * What was found at a path: a file's facts, or `"file"` where it is known to be no folder and nothing else. Left out: what
 * is there now decides.
 */
export type FoundFile =
  | {
      readonly dev: number;
      readonly ino: number;
      readonly birthtimeMs: number;
      readonly isDirectory: () => boolean;
    }
  | "file";

export interface ReachRules {
  /** Real ones, and the names the operator wrote for them. */
  readonly roots: readonly string[];
  readonly workspace: string;
  /** The workspace's state folder, and where it leads. */
  readonly stateDirs: readonly string[];
  /** The same of what the configuration names for state elsewhere. */
  readonly stateFolders: readonly string[];
  readonly stateFiles: readonly string[];
  /** The user's own folders of llmc, and where they lead. */
  readonly userDirs: readonly string[];
  readonly obeyedPaths: ObeyedPaths;
  readonly isStartup: (realPath: string) => boolean;
  readonly isWithheld: (realPath: string, file?: FoundFile) => boolean;
  readonly entryKind: EntryKind;
  /** Files outside git directories that git reads as configuration, as far as repositories around a path say so. */
  readonly gitConfiguration: (path: string) => readonly string[];
}

/** Of a workspace's configuration, in whatever folder: another server may have that as its workspace. */
export const isConfigName = (name: string): boolean => foldCase(name) === CONFIG_FILE;

const folded = new WeakMap<readonly string[], readonly string[]>();

/** A tree of many files is judged by the same lists. */
const foldAll = (paths: readonly string[]): readonly string[] => {
  const known = folded.get(paths) ?? paths.map(foldCase);
  folded.set(paths, known);
  return known;
};

const isBelowOne = (path: string, dirs: readonly string[]): boolean =>
  foldAll(dirs).some((dir) => isInside(path, dir));

interface Judged {
  /** Folded. */
  readonly path: string;
  readonly realPath: string;
  readonly rules: ReachRules;
  readonly file: FoundFile | undefined;
}

const isObeyed =
  (id: ObeyedId) =>
  ({ path, rules }: Judged): boolean =>
    isBelowOne(path, rules.obeyedPaths[id]);

/** How a real path is known to belong to an entry. In the order in which a refusal names its reason. */
const BELONGS: Readonly<Record<ReachId, (judged: Judged) => boolean>> = {
  state: ({ path, rules }) =>
    isState(path) ||
    [rules.stateDirs, rules.stateFolders, rules.stateFiles].some((own) => isBelowOne(path, own)),
  pending: ({ path }) => TEMP_NAME.test(posix.basename(path)),
  user: ({ path, rules }) => isBelowOne(path, rules.userDirs),
  program: isObeyed("program"),
  config: (judged) => isObeyed("config")(judged) || isConfigName(posix.basename(judged.path)),
  modules: isObeyed("modules"),
  models: isObeyed("models"),
  git: ({ path, realPath, rules }) =>
    isBelowOne(path, rules.gitConfiguration(realPath)) || isInGitDirectory(realPath, rules.entryKind),
  startup: (judged) => isObeyed("startup")(judged) || judged.rules.isStartup(judged.realPath),
  secret: ({ realPath, rules, file }) => rules.isWithheld(realPath, file),
};

const IDS = Object.keys(BELONGS) as ReachId[];

/** Entries that reads are judged by: where their folders lie is known without looking for links on the way. */
const isByFolder = (id: ReachId): id is "state" | "user" => id === "state" || id === "user";

/** The entries that a real path belongs to. */
export const entriesAt = (realPath: string, rules: ReachRules): readonly ReachId[] => {
  const judged = { path: foldCase(realPath), realPath, rules, file: undefined };
  // A link on the way there is obeyed as well; only writes meet it, since a read has followed it.
  return IDS.filter((id) => BELONGS[id](judged) || (isByFolder(id) && isObeyed(id)(judged)));
};

/** What an actor would see: a name, a file's content, or the content of a name that it was found to see before. */
export type Seen = "name" | "content" | "content of a seen name";

type ClosedIds = Readonly<Record<Seen, readonly ReachId[]>>;

/** Only these are asked about a path that is read: the table is the same for every call. */
const closedTo = (actor: Actor): ClosedIds => {
  const name = IDS.filter((id) => !(REACH[id].list ?? REACH[id].read).includes(actor));
  const content = IDS.filter((id) => !REACH[id].read.includes(actor));
  return { name, content, "content of a seen name": content.filter((id) => !name.includes(id)) };
};
const CLOSED: Readonly<Record<Actor, ClosedIds>> = {
  tools: closedTo("tools"),
  commands: closedTo("commands"),
  git: closedTo("git"),
};

/** The entry that keeps an actor from seeing a name, or its content. */
export const judgeRead = (
  realPath: string,
  actor: Actor,
  rules: ReachRules,
  what: Seen,
  file?: FoundFile,
): ReachId | undefined => {
  const judged = { path: foldCase(realPath), realPath, rules, file };
  return CLOSED[actor][what].find((id) => BELONGS[id](judged));
};

/** How a refused read is told; nothing more is said of llmc's own files. */
export const readRefusal = (id: ReachId): PathRefusal => (id === "secret" ? "denylist" : "private");

/** Folders, and files of state, whose content an actor does not see, by where they lie. */
export const closedPaths = (actor: Actor, rules: ReachRules): readonly string[] => {
  const foldersOf = (id: ReachId): readonly string[] => {
    if (id === "state") return [...rules.stateDirs, ...rules.stateFolders, ...rules.stateFiles];
    if (id === "user") return rules.userDirs;
    return id in NO_OBEYED_PATHS ? rules.obeyedPaths[id as ObeyedId] : [];
  };
  return CLOSED[actor].content.flatMap(foldersOf);
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
  const placed = OBEYED_IDS.filter((id) => !REACH[id].write.includes(actor));
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
