import type { AllowFlags } from "./actions.ts";
import { confirmChange } from "./confirm-change.ts";
import { renderDiff } from "./connect/diff.ts";
import type { Io } from "./io.ts";

/** A program as it was found, and what it needs. */
export interface AllowedProgram {
  readonly name: string;
  readonly path: string;
  readonly location: string;
  readonly interpreter: string | undefined;
  readonly powers: readonly string[];
  readonly readPaths: readonly string[];
  /** What the person should know before they agree. */
  readonly notes: readonly string[];
}

/** What allowing programs changes; the wiring provides it. */
export interface AllowPlan {
  readonly programs: readonly AllowedProgram[];
  /** Outside the roots, of this workspace's work tree. */
  readonly gitDirectory: string | undefined;
  readonly file: string;
  /** Undefined if there is no file yet. */
  readonly before: string | undefined;
  readonly after: string;
  /** False if all of it is in force already. */
  readonly isChanged: boolean;
  /** Writes the file and trusts what was added to it. */
  apply(): Promise<void>;
}

export const describeProgram = ({
  name,
  path,
  location,
  interpreter,
  powers,
  readPaths,
  notes,
}: AllowedProgram): string =>
  [
    `${name}: ${path} (${location})`,
    ...(interpreter === undefined ? [] : [`  started by ${interpreter}`]),
    ...(powers.length === 0 ? [] : [`  with the powers ${powers.join(", ")}`]),
    ...(readPaths.length === 0 ? [] : [`  commands may also read ${readPaths.join(", ")}`]),
    ...notes.map((note) => `  note: ${note}`),
    "",
  ].join("\n");

/** `llmc allow`: shows what was found and what would change, asks, writes. */
export const runAllow = async (
  plan: AllowPlan,
  io: Io,
  { yes, print }: Pick<AllowFlags, "yes" | "print">,
): Promise<void> => {
  const { gitDirectory } = plan;
  for (const program of plan.programs) io.out(describeProgram(program));
  if (gitDirectory !== undefined)
    io.out(
      `${gitDirectory}\n  git may use it like a git directory of the workspace: objects and branches with git:write, never hooks or configuration; no tool and no other program reads it\n`,
    );
  const names = [
    ...plan.programs.map(({ name }) => name),
    ...(gitDirectory === undefined ? [] : [`git in ${gitDirectory}`]),
  ].join(", ");
  if (!plan.isChanged) {
    io.out(`${names}: already allowed; nothing was changed.\n`);
    return;
  }
  io.out(
    plan.before === plan.after
      ? `${plan.file} says so already, but is not trusted with it.\n`
      : renderDiff(plan.before, plan.after, plan.file, io.hasColours),
  );
  if (print === true) return;
  const question = `Allow ${names}, and write this to ${plan.file}?`;
  const hint = "Add --yes to write, or --print to only show the change.";
  if (!(await confirmChange(io, yes, { question, done: "written", hint }))) return;
  await plan.apply();
  io.out(`Wrote ${plan.file}. Allowed from now on, also in servers that are running: ${names}.\n`);
};
