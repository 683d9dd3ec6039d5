import { LlmcError } from "../../../base/error.ts";

export const refuseSeveral = (why = ""): LlmcError =>
  new LlmcError(
    "invalid_args",
    `A process that runs on is one program${why === "" ? "" : ` (${why.trim()})`}.`,
    {
      hint: "Write it as: cd DIR && NAME=value PROGRAM ARGUMENTS. What ends by itself has pipes, lists and redirections in run_cmd. The output of a process comes from linux_proc_read and its input from linux_proc_send; where the operator allows bash, bash -c '…' is one program.",
      details: { field: "command" },
    },
  );

export const checkArgv = (argv: readonly string[]): readonly string[] => {
  if (argv[0] === undefined || argv[0] === "")
    throw new LlmcError("invalid_args", "The command has no program.", { details: { field: "args" } });
  if (argv.some((argument) => argument.includes("\0")))
    throw new LlmcError("invalid_args", "The command has a NUL character.", { details: { field: "args" } });
  return argv;
};
