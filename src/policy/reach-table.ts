import { STATE_DIR } from "./paths.ts";

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
  /** Who sees that it is there; if omitted, whoever may read. */
  readonly list?: readonly Actor[];
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
 * The reach table: who may read and write each kind of sensitive file (REQ-D16, REQ-D24). Everything derives from it: the
 * file tools, search, index, handles and documents ask `judgeRead` (through `Reach.refuseRead`), file tools and patches
 * `judgeWrite`, and commands get a sandbox profile made of it.
 */
export const REACH: Readonly<Record<ReachId, ReachEntry>> = {
  state: {
    what: `a workspace's ${STATE_DIR} folder (index, handles, telemetry, audit), and what the configuration names as the server's own: knowledge bases, traces, cassettes, keys`,
    read: [],
    write: [],
    message: `belongs to llmc's own state (${STATE_DIR}, or a path of its configuration), which no tool changes.`,
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
    what: "the folders of custom modules and executables",
    read: EVERYBODY,
    write: [],
    message: "belongs to llmc's custom modules or executables, which no tool changes.",
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
    list: EVERYBODY,
    write: [],
    create: EVERYBODY,
    message:
      "is on the denylist (mcp.tools.denylist_globs): what cannot be read is not changed, moved or removed either.",
    hint: "The user has to do it by hand.",
  },
};

/** Entries that are known by where they lie. Absolute real paths, and the names that the operator wrote for them. */
export type ObeyedId = "state" | "user" | "program" | "config" | "modules" | "models" | "startup";
export type ObeyedPaths = Readonly<Record<ObeyedId, readonly string[]>>;

export const NO_OBEYED_PATHS: ObeyedPaths = {
  state: [],
  user: [],
  program: [],
  config: [],
  modules: [],
  models: [],
  startup: [],
};

export const OBEYED_IDS = Object.keys(NO_OBEYED_PATHS) as readonly ObeyedId[];
