import { LlmcError } from "../../base/error.ts";

interface Hunk {
  /** First line of the hunk in the old text, counted from 1; 0 for a new file. */
  readonly oldStart: number;
  /** Lines with their mark: " " context, "-" removed, "+" added. */
  readonly lines: readonly { readonly mark: " " | "-" | "+"; readonly text: string }[];
  /** The old or new text ends without a newline after its last line. */
  readonly oldLacksNewline: boolean;
  readonly newLacksNewline: boolean;
}

export interface FilePatch {
  readonly kind: "update" | "create" | "delete" | "rename";
  readonly path: string;
  /** The new path of a rename. */
  readonly target: string | undefined;
  readonly hunks: readonly Hunk[];
}

const refuse = (line: number, why: string): never => {
  throw new LlmcError("invalid_args", `The patch cannot be read at line ${line}: ${why}.`, {
    hint: "Send a unified diff: ---/+++ headers and @@ hunks whose lines start with a space, - or +.",
    details: { patch_line: line },
  });
};

/** `a/src/x.ts<TAB>date` names src/x.ts; git's quoted names are decoded. */
const nameOf = (header: string, line: number): string | undefined => {
  const bare = header.startsWith('"') ? header : (header.split("\t")[0] ?? "").trimEnd();
  const name = bare.startsWith('"') ? unquote(bare, line) : bare;
  if (name === "/dev/null") return undefined;
  return /^[ab]\//.test(name) ? name.slice(2) : name;
};

const unquote = (quoted: string, line: number): string => {
  const end = quoted.lastIndexOf('"');
  if (end < 1) return refuse(line, "a quoted name is not closed");
  const bytes: number[] = [];
  const body = quoted.slice(1, end);
  for (let i = 0; i < body.length; i++) {
    if (body[i] !== "\\") {
      bytes.push(...Buffer.from(String.fromCodePoint(body.codePointAt(i) ?? 0)));
      if ((body.codePointAt(i) ?? 0) > 0xffff) i++;
      continue;
    }
    const octal = /^[0-7]{3}/.exec(body.slice(i + 1))?.[0];
    if (octal !== undefined) {
      bytes.push(Number.parseInt(octal, 8));
      i += 3;
    } else {
      const named: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", '"': '"', "\\": "\\" };
      bytes.push(...Buffer.from(named[body[i + 1] ?? ""] ?? ""));
      i++;
    }
  }
  return Buffer.from(bytes).toString("utf8");
};

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

interface Cursor {
  readonly lines: readonly string[];
  at: number;
}

type Mark = Hunk["lines"][number]["mark"];

/** Mail programs and models strip the single space of an empty context line. */
const markOf = (line: string | undefined): Mark | undefined => {
  if (line === "" || line === "\r") return " ";
  const mark = line?.[0];
  return mark === " " || mark === "-" || mark === "+" ? mark : undefined;
};

const isEmpty = (line: string | undefined): boolean => line === "" || line === "\r";

const startsFile = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? "").startsWith("diff --git ") ||
  ((lines[at] ?? "").startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ "));

/** What may follow a hunk: another one, another file, the end, or text that is not part of one. */
const endsHunk = (lines: readonly string[], at: number): boolean =>
  startsFile(lines, at) || lines[at] === "-- " || markOf(lines[at]) === undefined || isEmpty(lines[at]);

/** The end of a hunk by the counts in its header; undefined where they are not those of its lines. */
const endByCounts = ({ lines, at }: Cursor, oldLines: number, newLines: number): number | undefined => {
  let [oldLeft, newLeft, end] = [oldLines, newLines, at];
  for (; oldLeft > 0 || newLeft > 0; end++) {
    if ((lines[end] ?? "").startsWith("\\")) continue;
    const mark = markOf(lines[end]);
    if (mark === undefined) return undefined;
    if (mark !== "+") oldLeft--;
    if (mark !== "-") newLeft--;
    if (oldLeft < 0 || newLeft < 0) return undefined;
  }
  if ((lines[end] ?? "").startsWith("\\")) end++;
  return endsHunk(lines, end) ? end : undefined;
};

/** The end of a hunk whose counts are wrong, as models write them: where something else begins. */
const endByMarks = ({ lines, at }: Cursor): number => {
  let end = at;
  while (end < lines.length && !startsFile(lines, end) && !(lines[end] ?? "").startsWith("@@")) {
    if (markOf(lines[end]) === undefined && !(lines[end] ?? "").startsWith("\\"))
      return refuse(end + 1, "a line of a hunk does not start with a space, - or +");
    end++;
  }
  while (end > at && isEmpty(lines[end - 1])) end--;
  return end;
};

const readHunk = (cursor: Cursor): Hunk => {
  const header = HUNK.exec(cursor.lines[cursor.at] ?? "");
  cursor.at++;
  const counted =
    header === null ? undefined : endByCounts(cursor, Number(header[2] ?? 1), Number(header[4] ?? 1));
  const end = counted ?? endByMarks(cursor);
  if (end === cursor.at && counted === undefined) return refuse(cursor.at, "a hunk has no lines");
  const lines: { mark: Mark; text: string }[] = [];
  let oldLacksNewline = false;
  let newLacksNewline = false;
  for (; cursor.at < end; cursor.at++) {
    const line = cursor.lines[cursor.at] ?? "";
    if (line.startsWith("\\")) {
      const mark = lines.at(-1)?.mark;
      oldLacksNewline ||= mark !== "+";
      newLacksNewline ||= mark !== "-";
    } else lines.push({ mark: markOf(line) ?? " ", text: line.slice(1) });
  }
  // Without numbers the hunk goes where its lines are.
  return { oldStart: Number(header?.[1] ?? 0), lines, oldLacksNewline, newLacksNewline };
};

const readHunks = (cursor: Cursor): Hunk[] => {
  const hunks: Hunk[] = [];
  while ((cursor.lines[cursor.at] ?? "").startsWith("@@")) hunks.push(readHunk(cursor));
  return hunks;
};

const kindOf = (oldName: string | undefined, newName: string | undefined): FilePatch["kind"] => {
  if (oldName === undefined) return "create";
  if (newName === undefined) return "delete";
  return oldName === newName ? "update" : "rename";
};

/** git's own headers, for files without hunks: renames, empty new files, deletions of empty files. */
const readGitHeader = (
  cursor: Cursor,
): { from?: string; to?: string; created?: boolean; deleted?: boolean } => {
  const found: { from?: string; to?: string; created?: boolean; deleted?: boolean } = {};
  const names = /^diff --git "?a\/(.+?)"? "?b\/(.+?)"?$/.exec(cursor.lines[cursor.at] ?? "");
  if (names?.[1] !== undefined && names[2] !== undefined) {
    found.from = names[1];
    found.to = names[2];
  }
  for (cursor.at++; cursor.at < cursor.lines.length; cursor.at++) {
    const line = cursor.lines[cursor.at] ?? "";
    if (line.startsWith("rename from ")) found.from = line.slice("rename from ".length);
    else if (line.startsWith("rename to ")) found.to = line.slice("rename to ".length);
    else if (/^new (?:file )?mode 1[26]0000/.test(line))
      refuse(cursor.at + 1, "links and submodules are not supported");
    else if (line.startsWith("new file mode")) found.created = true;
    else if (line.startsWith("deleted file mode")) found.deleted = true;
    else if (line.startsWith("GIT binary patch") || line.startsWith("Binary files"))
      refuse(cursor.at + 1, "binary patches are not supported");
    else if (!/^(index|similarity index|dissimilarity index|old mode|new mode) /.test(line)) break;
  }
  return found;
};

const readNames = (
  cursor: Cursor,
): { readonly oldName: string | undefined; readonly newName: string | undefined } | undefined => {
  const first = cursor.lines[cursor.at] ?? "";
  const second = cursor.lines[cursor.at + 1] ?? "";
  if (!first.startsWith("--- ") || !second.startsWith("+++ ")) return undefined;
  const oldName = nameOf(first.slice(4), cursor.at + 1);
  const newName = nameOf(second.slice(4), cursor.at + 2);
  cursor.at += 2;
  return { oldName, newName };
};

/** Parses a unified diff of any number of files. Text before and between the files is ignored. */
export const parsePatch = (patch: string): readonly FilePatch[] => {
  const lines = patch.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const cursor: Cursor = { lines, at: 0 };
  const files: FilePatch[] = [];
  const add = (oldName: string | undefined, newName: string | undefined, hunks: readonly Hunk[]): void => {
    const path = oldName ?? newName;
    if (path === undefined) {
      refuse(cursor.at, "a file has no name");
      return;
    }
    const kind = kindOf(oldName, newName);
    files.push({ kind, path, target: kind === "rename" ? newName : undefined, hunks });
  };
  while (cursor.at < lines.length) {
    const line = lines[cursor.at] ?? "";
    if (line.startsWith("diff --git ")) {
      const git = readGitHeader(cursor);
      const names = readNames(cursor);
      if (names !== undefined) add(names.oldName, names.newName, readHunks(cursor));
      else add(git.created ? undefined : git.from, git.deleted ? undefined : git.to, []);
    } else {
      const names = readNames(cursor);
      if (names !== undefined) add(names.oldName, names.newName, readHunks(cursor));
      else if (line.startsWith("@@"))
        refuse(cursor.at + 1, "a hunk comes before the --- and +++ lines of its file");
      else cursor.at++;
    }
  }
  if (files.length === 0) refuse(1, "it contains no file");
  return files;
};
