export interface EnvelopeCommand {
  readonly argv: readonly [string, ...string[]];
  /** From the plain output: a count that the envelope must know too, or a text that it must show; null for neither. */
  readonly fact: (stdout: string) => number | string | null;
}

const lines = (stdout: string): number => stdout.split("\n").length - 1;
const numbered = (stdout: string): number =>
  stdout.split("\n").filter((line) => /^(?:\d+|.*:\d+):/.test(line)).length;
const counts = (stdout: string): number =>
  stdout.split("\n").reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(":") + 1)), 0);
const commits = (stdout: string): number => (stdout.match(/^commit [0-9a-f]{40}/gm) ?? []).length;
const files = (stdout: string): number => (stdout.match(/^diff --git /gm) ?? []).length;
const lastLine = (stdout: string): string => stdout.trimEnd().split("\n").at(-1) ?? "";
const longEntries = (stdout: string): number =>
  stdout.split("\n").filter((line) => /^[-dl]/.test(line) && !/ \.{1,2}$/.test(line)).length;
const jsonMatches = (stdout: string): number =>
  stdout.split("\n").filter((line) => line.startsWith('{"type":"match"')).length;
const noFact = (): null => null;
const same = (stdout: string): string => stdout;

const row = (commandLine: string, fact: EnvelopeCommand["fact"]): EnvelopeCommand => {
  const [program = "", ...rest] = commandLine.split(" ");
  return { argv: [program, ...rest], fact };
};

/** What agents run all day, over this repository and, for bulk, over its installed packages. */
export const COMMANDS: readonly EnvelopeCommand[] = [
  row("ls", lines),
  row("ls -la", longEntries),
  row("pwd", same),
  row("git status --short", noFact),
  row("wc -l package.json", same),
  row("grep -n version package.json", numbered),
  row("cat tsconfig.json", same),
  row("grep -rn LlmcError src", numbered),
  row("grep -rn import src/core", numbered),
  row("grep -rc LlmcError src", counts),
  row("grep -rl LlmcError src", lines),
  row("grep -rn -C2 throw src/host", noFact),
  row("rg -n export src", numbered),
  row("rg --json LlmcError src", jsonMatches),
  row("rg -n function node_modules/zod", numbered),
  row("find src -name *.ts", lines),
  row("find node_modules/zod -type f", lines),
  row("find node_modules -name package.json", lines),
  row("ls -R src", noFact),
  row("ls -l node_modules", longEntries),
  row("ls -laR src/host", longEntries),
  row("cat package-lock.json", lastLine),
  row("cat src/core/call.ts", same),
  row("tail -n 2000 package-lock.json", lastLine),
  row("git log", commits),
  row("git log --stat -15", commits),
  row("git log -p -8", commits),
  row("git diff 5bca6d3~12 5bca6d3", files),
  row("git blame src/wiring/app.ts", lines),
  row("git grep -n export", numbered),
];
