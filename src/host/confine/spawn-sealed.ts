import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { callNumber } from "../os/system-calls.ts";
import { programFolder } from "./landlock-rules.ts";
import { inProgramFile } from "./program-file.ts";
import { buildProgram, hasMachineCode, type SystemCall, text, textList } from "./system-call-program.ts";

export type Stdio = Exclude<StdioOptions, string>;

/**
 * Clients leave descriptors open in the servers that they start, and what is not marked is inherited: a folder or a
 * connection of theirs would be open in a program that is to have none.
 */
export const unwantedDescriptors = (stdio: Stdio): readonly number[] => [
  ...stdio.flatMap((one, descriptor) =>
    descriptor > 2 && (one === "ignore" || one === null) ? [descriptor] : [],
  ),
  ...readdirSync("/proc/self/fd")
    .map(Number)
    .filter((descriptor) => descriptor > stdio.length),
];

const NOWHERE = -1;

const sealedProgram = (
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdio: Stdio,
): Buffer => {
  const closing = [...unwantedDescriptors(stdio), stdio.length].map(
    (descriptor): SystemCall => ({
      step: "close",
      number: callNumber("close"),
      args: [descriptor],
      isOptional: true,
    }),
  );
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const become: SystemCall = {
    step: "execve",
    number: callNumber("execve"),
    args: [text(file), textList([file, ...args]), textList(entries)],
  };
  return buildProgram([...closing, become], NOWHERE);
};

/** As `spawn`, but the program has the descriptors of `stdio` and no other, whatever we were started with. */
export const spawnSealed = (
  file: string,
  args: readonly string[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly stdio: Stdio;
    readonly detached?: boolean;
  },
): ChildProcess => {
  const stdio: Stdio = [...options.stdio];
  while (stdio.length < 3) stdio.push("ignore");
  if (process.platform !== "linux" || !hasMachineCode()) return spawn(file, args, { ...options, stdio });
  // It has become the program when `spawn` returns, so its own file can go.
  return inProgramFile(
    programFolder(),
    () => sealedProgram(file, args, options.env, stdio),
    (launcher) => spawn(launcher, { ...options, stdio }),
  );
};
