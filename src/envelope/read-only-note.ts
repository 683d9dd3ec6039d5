import { posix } from "node:path";
import { quoteForMessage } from "../base/text.ts";
import { REACH, type ReachId } from "../policy/reach-table.ts";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const READ_ONLY = /read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b/i;
/** What is read-only also looks closed or, to those who make folders with their parents, absent. */
const MAYBE_READ_ONLY = /permission denied|\bEACCES\b|\bENOENT\b.{0,200}\bmkdir\b/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;
const MAX_LINES = 20;

const OBEYED =
  "commands cannot change what git, editors, shells or CI obey (.git, .github), llmc's own files or anything outside the roots; git rm and git mv can where git tracks it, linux_fs_delete and linux_fs_move where they are listed, or the user in a terminal";

/** The entry of the reach table that keeps commands from changing a path. */
export type ClosedAt = (path: string) => ReachId | undefined;

/** Why a path that a message names cannot be changed; undefined where it can, or the message for what is obeyed says it. */
const reasonIn = (
  line: string,
  folders: readonly string[],
  closedAt: ClosedAt | undefined,
): string | undefined => {
  // Names stand in quotes, or between blanks and colons.
  const names = [...line.matchAll(/'([^']{1,400})'|"([^"]{1,400})"|([^\s'":,()]{1,400})/g)];
  for (const [, single, double, bare] of names) {
    const name = single ?? double ?? bare ?? "";
    for (const folder of folders) {
      const id = closedAt?.(posix.resolve(folder, name));
      if (id === undefined || id === "git" || id === "startup") continue;
      return `${quoteForMessage(name)} ${REACH[id].message} ${REACH[id].hint}`.replace(/\.$/, "");
    }
  }
  return undefined;
};

/** Why a program could not change a file that its user may change; git's own failures have words of their own. */
export const readOnlyNote = (
  { programs, folders = [] }: Launched,
  output: Output,
  closedAt: ClosedAt | undefined,
): string | undefined => {
  if (!programs.some(({ name, exitCode }) => name !== "git" && exitCode !== 0)) return undefined;
  const written = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`;
  const lines = written.split("\n").filter((line) => READ_ONLY.test(line) || MAYBE_READ_ONLY.test(line));
  for (const line of lines.slice(0, MAX_LINES)) {
    const reason = reasonIn(line.slice(0, 2000), folders, closedAt);
    if (reason !== undefined) return reason;
  }
  return lines.some((line) => READ_ONLY.test(line)) ? OBEYED : undefined;
};
