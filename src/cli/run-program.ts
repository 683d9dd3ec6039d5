import { type Command, CommanderError } from "commander";
import { LlmcError } from "../base/error.ts";

/** The command that a usage error is about. */
const failedIn = new WeakMap<CommanderError, Command>();

/** Where the commands or options of the one that was typed are listed. */
const helpHint = (error: CommanderError): string => {
  const command = failedIn.get(error);
  const names: string[] = [];
  for (let at = command; at?.parent; at = at.parent) names.unshift(at.name());
  if (command === undefined || names.length === 0)
    return "llmc --help shows the commands, llmc COMMAND --help its options.";
  const what = command.commands.length > 0 ? "commands" : "arguments and options";
  return `llmc ${names.join(" ")} --help shows its ${what}.`;
};

/** To be called for each command. */
export const noteFailures = (command: Command): void => {
  command.exitOverride((error) => {
    failedIn.set(error, command);
    throw error;
  });
};

/** Runs the command line. Usage errors become `invalid_args`; help and version are not errors. */
export const runProgram = async (program: Command, argv: readonly string[]): Promise<void> => {
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0 || thrown.code === "commander.help") return;
    throw new LlmcError("invalid_args", thrown.message.replace(/^error: /, ""), {
      hint: helpHint(thrown),
    });
  }
};
