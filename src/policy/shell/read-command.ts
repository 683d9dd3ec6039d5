import { refuseConstruct, refuseNamed } from "./refusals.ts";
import type { Assignment, Redirection, ShellCommand, ShellWord } from "./shell-line.ts";
import type { RedirectionToken, WordToken } from "./shell-tokens.ts";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

const ASSIGNMENT = /^([A-Za-z_]\w*)(\[[^\]]*\])?(\+?=)/;

/** Variables with a meaning or a value of their own in bash, which they have not here. */
const SHELL_VARIABLE =
  /^(?:_|PWD|OLDPWD|CDPATH|E?UID|PPID|GROUPS|S?RANDOM|SECONDS|LINENO|EPOCH\w+|BASH\w*|GLOBIGNORE|EXECIGNORE|FUNCNAME|DIRSTACK|PIPESTATUS|HISTCMD|POSIXLY_CORRECT)$/;

/** `NAME=value`; undefined for another word. */
const readAssignment = ({ raw, word }: WordToken): Assignment | undefined => {
  const [prefix = "", name = "", subscript, operator] = ASSIGNMENT.exec(raw) ?? [];
  const [first, ...rest] = word;
  if (prefix === "" || first?.kind !== "text" || first.isQuoted || !first.text.startsWith(prefix))
    return undefined;
  if (SHELL_VARIABLE.test(name)) throw refuseConstruct(`the variable ${name}`, raw, "Choose another name.");
  if (subscript !== undefined) throw refuseNamed("array", raw);
  if (operator !== "=") throw refuseConstruct("appending to a variable", raw, "Write the whole value.");
  const value = first.text.slice(prefix.length);
  return { name, value: value === "" ? rest : [{ ...first, text: value }, ...rest], isExported: false };
};

const ACCESS: Readonly<Record<string, "read" | "write" | "append">> = {
  "<": "read",
  ">": "write",
  ">|": "write",
  ">>": "append",
  "&>": "write",
  "&>>": "append",
};

const input = (content: ShellWord): readonly Redirection[] => [{ kind: "input", content }];

const refuseSplit = ({ raw, word }: WordToken): void => {
  if (word.some((part) => part.kind === "text" && part.isSplit))
    throw refuseConstruct("command substitution", raw, "Put double quotes around it: \"$(cat <<'EOF' …)\".");
};

export const readRedirection = (token: RedirectionToken): readonly Redirection[] => {
  refuseSplit(token.target);
  const { operator, target, body } = token;
  const source = `${token.fd ?? ""}${operator} ${target.raw}`;
  const fd = token.fd ?? (operator.startsWith("<") ? STDIN : STDOUT);
  if (fd > STDERR) throw refuseConstruct("a descriptor above 2", source, "Use 0, 1 or 2.");
  if (operator.startsWith("<<")) {
    if (fd !== STDIN)
      throw refuseConstruct("text for another descriptor than 0", source, "Leave the number out.");
    if (operator !== "<<<") return input([{ kind: "text", text: body ?? "", isQuoted: true }]);
    const [first] = target.word;
    if (first?.kind === "text" && !first.isQuoted && first.text.startsWith("~"))
      throw refuseConstruct("~ in a here-string", source, "Write the path.");
    return input([...target.word, { kind: "text", text: "\n", isQuoted: true }]);
  }
  if (operator === ">&" || operator === "<&") {
    if (!/^[0-2]$/.test(target.raw))
      throw refuseConstruct("duplicating a descriptor", source, "Use 2>&1 or a file name.");
    return [{ kind: "copy", fd, of: Number(target.raw) }];
  }
  const access = ACCESS[operator];
  if (access === undefined) throw refuseConstruct("opening a file to read and write", source, "Use < or >.");
  const toFile: Redirection = { kind: "file", fd, access, target: target.word };
  return operator.startsWith("&") ? [toFile, { kind: "copy", fd: STDERR, of: STDOUT }] : [toFile];
};

const hasUnquoted = (word: ShellWord, letter: string): boolean =>
  word.some((part) => part.kind === "text" && !part.isQuoted && part.text.includes(letter));

/** Bash expands a `~` behind `=` and `:` where a word has the form of an assignment, wherever it stands. */
const refuseInnerTilde = ({ raw, word }: WordToken, isAssignment: boolean): void => {
  const isMeant = isAssignment ? raw.includes(":~") : ASSIGNMENT.test(raw) && /[=:]~/.test(raw);
  if (isMeant && hasUnquoted(word, "~")) throw refuseConstruct("~ behind = or :", raw, "Write the path.");
};

/** Bash expands braces here, unlike in `NAME=value`, and sets variables in front of `export` for the whole line. */
const readExport = (
  wordTokens: readonly WordToken[],
  before: readonly Assignment[],
): readonly Assignment[] => {
  const assignments = wordTokens.map(readAssignment).filter((one) => one !== undefined);
  const hasBrace = wordTokens.some(({ word }) => hasUnquoted(word, "{"));
  if (before.length > 0 || hasBrace || assignments.length === 0 || assignments.length < wordTokens.length)
    throw refuseNamed("declaration", ["export", ...wordTokens.map(({ raw }) => raw)].join(" "));
  return assignments.map((one) => ({ ...one, isExported: true }));
};

/** A single command; groups, pipelines and lists are the business of read-line.ts. */
export const readCommand = (tokens: readonly (WordToken | RedirectionToken)[]): ShellCommand => {
  const redirections = tokens.flatMap((token) =>
    token.kind === "redirection" ? readRedirection(token) : [],
  );
  const wordTokens = tokens.filter((token) => token.kind === "word");
  const assignments: Assignment[] = [];
  for (const word of wordTokens) {
    const assignment = readAssignment(word);
    refuseInnerTilde(word, assignment !== undefined);
    if (assignment === undefined) break;
    assignments.push(assignment);
  }
  for (const word of wordTokens.slice(assignments.length)) refuseInnerTilde(word, false);
  const [program, ...rest] = wordTokens.slice(assignments.length);
  if (program?.raw === "export")
    return { assignments: readExport(rest, assignments), args: [], redirections };
  for (const word of wordTokens.slice(assignments.length)) refuseSplit(word);
  const args = program === undefined ? [] : [program.word, ...rest.map(({ word }) => word)];
  return { assignments, args, redirections };
};
