import { LlmcError } from "../../../base/error.ts";

export const refuseSeveral = (why = ""): LlmcError =>
  new LlmcError(
    "invalid_args",
    `A process that runs on is one program${why === "" ? "" : ` (${why.trim()})`}.`,
    {
      hint: "Write it as: cd DIR && NAME=value PROGRAM ARGUMENTS. Pipes and redirections work in run_cmd.",
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
