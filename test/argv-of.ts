import { expandWord, literalOf } from "../src/policy/shell/expand-word.ts";
import { createExpansionBudget } from "../src/policy/shell/expansion-budget.ts";
import { readShellLine } from "../src/policy/shell/read-line.ts";
import { isPipedGroup } from "../src/policy/shell/shell-line.ts";

/** The arguments of a line that is one program, as the server would read them; names are not matched. */
export const argvOf = async (line: string): Promise<readonly [string, ...string[]]> => {
  const [step, ...more] = readShellLine(line);
  const commands = step?.body.kind === "pipeline" ? step.body.commands : [];
  const [command] = commands;
  if (command === undefined || isPipedGroup(command) || commands.length > 1)
    throw new Error(`not one program: ${line}`);
  if (more.length > 0 || command.redirections.length > 0) throw new Error(`not one program: ${line}`);
  const context = { home: "/home/me", variable: () => undefined, budget: createExpansionBudget() };
  const [program, ...args] = command.args.flatMap((word) => expandWord(word, context)).map(literalOf);
  if (program === undefined) throw new Error(`no program: ${line}`);
  return [program, ...args];
};
