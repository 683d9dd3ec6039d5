import { refuseConstruct } from "../../../policy/shell/refusals.ts";

/** Where an allowed program is; undefined for any other, whether the machine has it or not. */
export type Locate = (program: string) => Promise<string | undefined>;

interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const RUN_IT = "Run the program itself; a refusal tells which programs are allowed.";

const answerFor = (found: readonly string[], missing: readonly string[], name: string): Answer => ({
  exitCode: missing.length > 0 ? 1 : 0,
  stdout: found.map((line) => `${line}\n`).join(""),
  stderr: missing.map((one) => `${name}: ${one} is not among the allowed programs\n`).join(""),
});

const refuseOptions = (name: string, args: readonly string[]): void => {
  const option = args.find((arg) => arg.startsWith("-"));
  if (option !== undefined || args.length === 0)
    throw refuseConstruct(`${name} ${option ?? ""}`.trim(), [name, ...args].join(" "), RUN_IT);
};

/** `which`: programs alone. */
export const which = async (args: readonly string[], locate: Locate): Promise<Answer> => {
  refuseOptions("which", args);
  const paths = await Promise.all(args.map(locate));
  return answerFor(
    paths.filter((path) => path !== undefined),
    args.filter((_name, at) => paths[at] === undefined),
    "which",
  );
};

/** `type`, and `command -v`, which names the same in fewer words. */
export const describeNames = async (
  name: "type" | "command",
  args: readonly string[],
  locate: Locate,
  isBuiltin: (name: string) => boolean,
): Promise<Answer> => {
  const isShort = name === "command";
  if (isShort && args[0] !== "-v")
    throw refuseConstruct("command", ["command", ...args].join(" "), "Write the command without it.");
  const names = isShort ? args.slice(1) : args;
  refuseOptions(name, names);
  // Of several, bash tells only whether one was found.
  if (isShort && names.length > 1)
    throw refuseConstruct("command -v with several names", names.join(" "), "Ask for each by itself.");
  const found: string[] = [];
  const missing: string[] = [];
  for (const one of names) {
    const path = isBuiltin(one) ? undefined : await locate(one);
    if (isBuiltin(one)) found.push(isShort ? one : `${one} is a shell builtin`);
    else if (path !== undefined) found.push(isShort ? path : `${one} is ${path}`);
    else missing.push(one);
  }
  return answerFor(found, missing, name);
};
