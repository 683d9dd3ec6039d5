import { LlmcError } from "../../base/error.ts";
import { readWord } from "./read-word.ts";
import { refuseBackground, refuseConstruct, refuseSyntax, unsupported } from "./refusals.ts";
import type {
  Assignment,
  Group,
  Pipeline,
  Redirection,
  ShellCommand,
  ShellLine,
  ShellStep,
  ShellTree,
  ShellWord,
} from "./shell-line.ts";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

const named = (node: ShellTree): readonly ShellTree[] => node.children.filter(({ isNamed }) => isNamed);

const errorIn = (node: ShellTree): ShellTree => {
  const inner = node.children.find(({ hasError }) => hasError);
  return inner === undefined ? node : errorIn(inner);
};

const readAssignment = (node: ShellTree): Assignment => {
  const [name, value, ...more] = named(node);
  if (name?.type !== "variable_name" || more.length > 0) throw unsupported(name ?? node);
  if (!/^[A-Za-z_]\w*$/.test(name.text)) throw refuseSyntax(node.text, "is not an assignment to a variable");
  const operator = node.children.find(({ isNamed }) => !isNamed)?.type;
  if (operator !== "=") throw refuseConstruct("appending to a variable", node.text, "Write the whole value.");
  return { name: name.text, value: value === undefined ? [] : readWord(value) };
};

const ACCESS: Readonly<Record<string, "read" | "write" | "append">> = {
  "<": "read",
  ">": "write",
  ">|": "write",
  ">>": "append",
  "&>": "write",
  "&>>": "append",
};

const readFileRedirection = (node: ShellTree): readonly Redirection[] => {
  const operator = node.children.find(({ isNamed }) => !isNamed)?.type ?? "";
  const descriptor = node.children.find(({ type }) => type === "file_descriptor");
  const target = named(node).find((child) => child !== descriptor);
  if (target === undefined) throw unsupported(node);
  const standard = operator.startsWith("<") ? STDIN : STDOUT;
  const fd = descriptor === undefined ? standard : Number(descriptor.text);
  if (fd > STDERR) throw refuseConstruct("a descriptor above 2", node.text, "Use 0, 1 or 2.");
  if (operator === ">&" || operator === "<&") {
    const of = /^[0-2]$/.test(target.text) ? Number(target.text) : undefined;
    if (of === undefined)
      throw refuseConstruct("duplicating a descriptor", node.text, "Use 2>&1 or a file name.");
    return [{ kind: "copy", fd, of }];
  }
  const access = ACCESS[operator];
  if (access === undefined) throw unsupported(node);
  const toFile: Redirection = { kind: "file", fd, access, target: readWord(target) };
  return operator.startsWith("&") ? [toFile, { kind: "copy", fd: STDERR, of: STDOUT }] : [toFile];
};

/** A here-document is taken as it stands; only one with a quoted end mark may hold `$` and backquotes. */
const readHereDocument = (node: ShellTree): readonly Redirection[] => {
  const parts = named(node);
  // What stands behind the mark on its line belongs to the same command.
  const others = parts.filter(({ type }) => type === "file_redirect").flatMap(readFileRedirection);
  const [start, body, end, ...more] = parts.filter(({ type }) => type !== "file_redirect");
  if (
    start?.type !== "heredoc_start" ||
    body?.type !== "heredoc_body" ||
    end?.type !== "heredoc_end" ||
    more.length > 0
  )
    throw refuseConstruct(
      "a here-document that goes on behind its mark",
      node.text,
      "Use <<< 'text', or write a file first.",
    );
  const isQuoted = /['"\\]/.test(start.text);
  if (!isQuoted && /[$`\\]/.test(body.text))
    throw refuseConstruct(
      "a here-document with expansions",
      node.text,
      "Put quotes around its end mark: <<'EOF'.",
    );
  const isIndented = node.children.some(({ type }) => type === "<<-");
  const content = isIndented ? body.text.replaceAll(/^\t+/gm, "") : body.text;
  return [{ kind: "input", content: [{ kind: "text", text: content, isQuoted: true }] }, ...others];
};

const readRedirection = (node: ShellTree): readonly Redirection[] => {
  if (node.type === "file_redirect") return readFileRedirection(node);
  if (node.type === "heredoc_redirect") return readHereDocument(node);
  const [word] = named(node);
  if (node.type !== "herestring_redirect" || word === undefined) throw unsupported(node);
  const newline = { kind: "text", text: "\n", isQuoted: true } as const;
  return [{ kind: "input", content: [...asQuoted(readWord(word)), newline] }];
};

/** What is never split into several arguments: the value of an assignment, a here-string. */
const asQuoted = (word: ShellWord): ShellWord => word.map((part) => ({ ...part, isQuoted: true }));

const isRedirection = ({ type }: ShellTree): boolean => type.endsWith("_redirect");

const readCommand = (node: ShellTree): ShellCommand => {
  const parts = named(node);
  return {
    assignments: parts.filter(({ type }) => type === "variable_assignment").map(readAssignment),
    args: parts.filter((part) => part.type !== "variable_assignment" && !isRedirection(part)).map(readWord),
    redirections: parts.filter(isRedirection).flatMap(readRedirection),
  };
};

/** `export NAME=value` is the same as `NAME=value` here: every assigned variable reaches the programs after it. */
const readDeclaration = (node: ShellTree): ShellCommand => {
  const [keyword] = node.children;
  const parts = named(node);
  if (keyword?.text !== "export" || parts.some(({ type }) => type !== "variable_assignment"))
    throw unsupported(node);
  return { assignments: parts.map(readAssignment), args: [], redirections: [] };
};

const pipeline = (...commands: readonly [ShellCommand, ...ShellCommand[]]): Pipeline => ({
  kind: "pipeline",
  isNegated: false,
  commands,
});

const withRedirections = (command: ShellCommand, added: readonly Redirection[]): ShellCommand => ({
  ...command,
  redirections: [...command.redirections, ...added],
});

/** The grammar hangs a redirection on the whole pipeline or list; a shell gives it to the last command of it. */
const redirectLast = (line: ShellLine, added: readonly Redirection[], source: ShellTree): ShellLine => {
  const last = line.at(-1);
  if (last?.body.kind !== "pipeline")
    throw refuseConstruct("redirecting a group", source.text, "Put the redirection behind each command.");
  const [first, ...rest] = last.body.commands;
  const end = rest.pop();
  const commands =
    end === undefined
      ? ([withRedirections(first, added)] as const)
      : ([first, ...rest, withRedirections(end, added)] as const);
  return [...line.slice(0, -1), { ...last, body: { ...last.body, commands } }];
};

const readPipeline = (node: ShellTree): Pipeline => {
  const commands: ShellCommand[] = [];
  let isNegated = false;
  for (const [at, child] of node.children.entries()) {
    if (child.type === "|&") {
      const before = commands.pop();
      if (before === undefined) throw unsupported(node);
      commands.push(withRedirections(before, [{ kind: "copy", fd: STDERR, of: STDOUT }]));
    }
    if (!child.isNamed) continue;
    const [step, ...more] = readStatement(child);
    if (step?.body.kind !== "pipeline" || more.length > 0)
      throw refuseConstruct(
        "a group in a pipeline",
        child.text,
        "Run the group on its own and write to a file.",
      );
    isNegated ||= at === 0 && step.body.isNegated;
    commands.push(...step.body.commands);
  }
  const [first, ...rest] = commands;
  if (first === undefined) throw unsupported(node);
  checkCount(commands.length, MAX_PIPED, "programs in one pipeline");
  return { ...pipeline(first, ...rest), isNegated };
};

const always = (body: Pipeline | Group): ShellLine => [{ when: "always", body }];

const readGroup = (node: ShellTree, isSubshell: boolean): ShellLine =>
  always({ kind: "group", isSubshell, isNegated: false, line: readStatements(node) });

const negate = (line: ShellLine, source: ShellTree): ShellLine => {
  const [first, ...rest] = line;
  if (first === undefined) throw unsupported(source);
  return [{ ...first, body: { ...first.body, isNegated: true } }, ...rest];
};

const readList = (node: ShellTree): ShellLine => {
  const steps: ShellStep[] = [];
  let when: ShellStep["when"] = "always";
  for (const child of node.children) {
    if (child.type === "&&") when = "success";
    else if (child.type === "||") when = "failure";
    else {
      const [first, ...rest] = readStatement(child);
      if (first === undefined) throw unsupported(child);
      steps.push({ ...first, when: steps.length === 0 ? first.when : when }, ...rest);
    }
  }
  return steps;
};

const readStatement = (node: ShellTree): ShellLine => {
  switch (node.type) {
    case "command":
      return always(pipeline(readCommand(node)));
    case "variable_assignment":
      return always(pipeline({ assignments: [readAssignment(node)], args: [], redirections: [] }));
    case "variable_assignments":
      return always(pipeline({ assignments: named(node).map(readAssignment), args: [], redirections: [] }));
    case "declaration_command":
      return always(pipeline(readDeclaration(node)));
    case "pipeline":
      return always(readPipeline(node));
    case "list":
      return readList(node);
    case "negated_command":
      return negate(named(node).flatMap(readStatement), node);
    case "subshell":
      return readGroup(node, true);
    case "compound_statement":
      return readGroup(node, false);
    case "redirected_statement": {
      const added = named(node).filter(isRedirection).flatMap(readRedirection);
      const [body] = named(node).filter((child) => !isRedirection(child));
      if (body === undefined) return always(pipeline({ assignments: [], args: [], redirections: added }));
      return redirectLast(readStatement(body), added, node);
    }
    default:
      throw unsupported(node);
  }
};

const readStatements = (node: ShellTree): ShellLine => {
  if (node.children.some(({ type }) => type === "&")) throw refuseBackground(node.text);
  return named(node)
    .filter(({ type }) => type !== "comment")
    .flatMap(readStatement);
};

/** Each of them is judged, with the workspace as it is, before anything runs. */
const MAX_COMMANDS = 50;
/** They run at the same time. */
const MAX_PIPED = 12;

const checkCount = (count: number, max: number, what: string): void => {
  if (count > max)
    throw new LlmcError("invalid_args", `The command line has more than ${max} ${what}.`, {
      hint: "Split it into several calls.",
      details: { field: "command" },
    });
};

const countCommands = (line: ShellLine): number =>
  line.reduce(
    (sum, { body }) => sum + (body.kind === "group" ? countCommands(body.line) : body.commands.length),
    0,
  );

/** The steps of a shell line that can be run without a shell; whatever needs one is refused by its name. */
export const readShellLine = (tree: ShellTree): ShellLine => {
  if (tree.hasError)
    throw refuseSyntax(errorIn(tree).text || tree.text, "is not complete or not valid shell syntax");
  const line = readStatements(tree);
  if (line.length === 0) throw refuseSyntax(tree.text, "names no program");
  checkCount(countCommands(line), MAX_COMMANDS, "commands");
  return line;
};
