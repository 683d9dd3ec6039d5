import { withLimits, withTerminal } from "../tree/limits.ts";
import type { TreeMark } from "../tree/process-scan.ts";
import type { Launch } from "../tree/process-tree.ts";
import { calledArgv } from "./called-as.ts";
import type { CommandRequest, SandboxProfile } from "./contract.ts";
import { commandEnvironment, gitEnvironment } from "./environment.ts";
import type { SandboxFiles } from "./sandbox-files.ts";

/**
 * No confinement: the user's rights, a clean environment and the end of the whole tree. A program that wipes its
 * environment, resets its limits and leaves its session on purpose can outlive the call here.
 */
export const plainLaunch = (
  request: CommandRequest,
  { limits }: SandboxProfile,
  files: SandboxFiles,
  mark: TreeMark,
): Launch => ({
  ...withLimits(withTerminal(calledArgv(request), request.terminal), mark, files.prlimit, limits),
  cwd: request.cwd,
  env: {
    ...commandEnvironment(files.home, files.temp, request),
    ...gitEnvironment(request.git, files.gitUserFile),
    LLMC_COMMAND_ID: mark.id,
  },
  reports: false,
  mark,
  ownSession: request.terminal === true,
});
