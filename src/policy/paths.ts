import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { isInside } from "../base/paths.ts";
import { quoteForMessage } from "../base/text.ts";

/** What callers may reach. All paths are absolute and normal: no `.`, no `..`, no slash at the end. */
export interface PathRules {
  /** Real path. Relative paths start here. */
  readonly workspace: string;
  /** Real paths. An empty list allows nothing. */
  readonly roots: readonly string[];
  /** The same roots as the operator wrote them, for callers who use those names. They allow nothing by themselves. */
  readonly writtenRoots: readonly string[];
}

export type PathRefusal = "outside" | "deep" | "system" | "private" | "denylist" | "policy" | "kind";

/** State and tokens of this program, below the workspace. */
export const STATE_DIR = ".llmc";

/**
 * For names that are obeyed or closed. Some disks take `LLMC.TOML` for `llmc.toml`: those of Windows and macOS, and others
 * that Linux mounts. Which ones do is not asked, because elsewhere nobody has both names side by side.
 */
export const foldCase = (path: string): string => path.normalize("NFC").toLowerCase();

// They show the memory, the environment and the descriptors of processes, ours included.
const SYSTEM_DIRS = ["/proc", "/sys"];

// Linux: PATH_MAX with its final NUL, and NAME_MAX.
const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
/**
 * Whoever judges a path asks about every folder above it, and whoever makes folders judges each of them: for the two
 * thousand that fit into a path, that takes minutes. Source trees have some twenty.
 */
const MAX_PARTS = 128;

/** Whether nobody is to look at a path because of its many parts. Each is a slash and a letter at least. */
export const isDeep = (path: string): boolean =>
  path.length > 2 * MAX_PARTS && path.split("/", MAX_PARTS + 2).length > MAX_PARTS + 1;

/** By component: the root `/w/app` does not allow `/w/app-secret`. Anything but a normal absolute path is outside. */
export const insideRoots = (realPath: string, roots: readonly string[]): boolean =>
  realPath.startsWith("/") &&
  posix.normalize(realPath) === realPath &&
  roots.some((root) => isInside(realPath, root));

const unusable = (requestedPath: string, why: string): LlmcError =>
  new LlmcError("path_denied", `${quoteForMessage(requestedPath)} is not a usable path: ${why}.`);

/**
 * The absolute path that a caller's path stands for, by its text alone. Nothing is expanded or decoded: `~`,
 * `file://`, `%2e%2e`, backslashes, dots and spaces at the end are parts of names.
 */
export const resolveRequestedPath = (requestedPath: string, workspace: string): string => {
  if (requestedPath === "") throw unusable(requestedPath, "it is empty");
  if (requestedPath.includes("\0")) throw unusable(requestedPath, "it contains a NUL byte");
  if (Buffer.byteLength(requestedPath) > MAX_PATH_BYTES)
    throw unusable(requestedPath, `it is over ${MAX_PATH_BYTES} bytes`);
  const path = posix.resolve(workspace, requestedPath);
  const bytes = Buffer.byteLength(path);
  if (bytes >= MAX_PATH_BYTES) throw unusable(requestedPath, `it is over ${MAX_PATH_BYTES} bytes`);
  if (bytes > MAX_NAME_BYTES && path.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    throw unusable(requestedPath, `a name in it is over ${MAX_NAME_BYTES} bytes`);
  }
  return path;
};

/** What a file is called while it is being written. */
export const TEMP_NAME = /^\.llmc-tmp-[0-9a-f]{24}$/i;

const REFUSED = ".refused-";
const REFUSED_ENDING = new RegExp(`(?:\\${REFUSED}[0-9a-f]{8})+(?=/|$)`, "g");

export const isRefusedName = (name: string): boolean => nameBeforeRefusal(name) !== name;

/** What a file is called that a command may have planted. */
export const refusedName = (name: string, mark: string): string => `${name}${REFUSED}${mark}`;

/** The pattern of such names, as git and the like read it. */
export const REFUSED_GLOB = `*${REFUSED}${"[0-9a-f]".repeat(8)}`;

/** The path with the names that were there before anything was renamed: what was closed under them stays closed. */
export const nameBeforeRefusal = (path: string): string =>
  path.includes(REFUSED) ? path.replace(REFUSED_ENDING, "") : path;

/** Any workspace's state, not only this one's: wide roots may reach other projects. */
export const isState = (path: string): boolean =>
  nameBeforeRefusal(foldCase(path)).split("/").includes(STATE_DIR);

const judgeWithin = (path: string, roots: readonly string[]): PathRefusal | undefined => {
  if (!insideRoots(path, roots)) return "outside";
  if (isDeep(path)) return "deep";
  return SYSTEM_DIRS.some((dir) => isInside(path, dir)) ? "system" : undefined;
};

/**
 * Whether a real path lies where callers may go at all: the decision that counts, since a written path may lead anywhere.
 * What is there may still belong to an entry of the reach table (`judgeRead`, `judgeWrite`).
 */
export const judgeReal = (realPath: string, rules: PathRules): PathRefusal | undefined =>
  judgeWithin(realPath, rules.roots);

/**
 * A first check of a path by its text, before the disk is touched: refusing here keeps what exists outside from
 * showing through the errors. Passing this check proves nothing yet, because links have not been resolved.
 */
export const judgeWritten = (path: string, rules: PathRules): PathRefusal | undefined =>
  rules.roots.length === 0 ? "outside" : judgeWithin(path, [...rules.roots, ...rules.writtenRoots]);

const REFUSALS: Record<PathRefusal, readonly [message: string, hint: string]> = {
  outside: ["is outside the allowed roots.", "Use a path inside the workspace or another allowed root."],
  deep: [`is more than ${MAX_PARTS} names deep.`, "Use a path with fewer folders."],
  system: ["leads into /proc or /sys, which is never read.", "Use a path of an ordinary file."],
  private: [
    `belongs to llmc's own state (${STATE_DIR}, or a path of its configuration), which no tool reads.`,
    "Use another path.",
  ],
  denylist: [
    "is on the denylist (mcp.tools.denylist_globs): its content is not returned.",
    "Its name can be listed; what is in it has to come from the user.",
  ],
  policy: ["is forbidden by a policy of the operator.", "Use another path."],
  kind: [
    "is neither a regular file nor a directory.",
    "Pipes, sockets and devices are not opened; use a path of an ordinary file.",
  ],
};

const PATH_NEED = "path:";

/** The path that a refusal would have to be lifted for; undefined if it is about anything else. */
export const outsidePath = ({ needs }: LlmcError): string | undefined => {
  const [need] = needs ?? [];
  return need?.startsWith(PATH_NEED) === true ? need.slice(PATH_NEED.length) : undefined;
};

/** A path that is outside by its text can be allowed by the user. One that leads outside by a link is not what it seems. */
const needsFor = (
  requestedPath: string,
  refusal: PathRefusal,
  rules: PathRules,
): readonly string[] | undefined => {
  if (refusal !== "outside" || rules.roots.length === 0) return undefined;
  const path = resolveRequestedPath(requestedPath, rules.workspace);
  return judgeWritten(path, rules) === "outside" ? [`${PATH_NEED}${path}`] : undefined;
};

/** Quotes the caller's own path only: the real path may reveal something outside the roots. */
export const pathDenied = (requestedPath: string, refusal: PathRefusal, rules: PathRules): LlmcError => {
  const [message, hint] = REFUSALS[refusal];
  return new LlmcError("path_denied", `${quoteForMessage(requestedPath)} ${message}`, {
    hint: rules.roots.length === 0 ? "The configuration allows no roots, so nothing can be reached." : hint,
    needs: needsFor(requestedPath, refusal, rules),
  });
};

/** For results: short inside the workspace, whole elsewhere. */
export const shownPath = (realPath: string, workspace: string): string =>
  isInside(realPath, workspace) ? posix.relative(workspace, realPath) || "." : realPath;
