import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { LlmcError } from "../../../base/error.ts";
import { ranInside } from "./bubblewrap.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./contract.ts";

export const checkRequest = async ({ argv, cwd }: CommandRequest): Promise<void> => {
  const folder = await stat(cwd).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new LlmcError("not_a_directory", "The working directory is not a directory.", {
      details: { field: "cwd" },
    });
  const program = await stat(argv[0]).catch(() => undefined);
  if (program === undefined) throw new LlmcError("file_not_found", "The program is no longer there.");
  const isExecutable =
    program.isFile() &&
    (await access(argv[0], constants.X_OK).then(
      () => true,
      () => false,
    ));
  if (!isExecutable) throw new LlmcError("permission_denied", "The program is not an executable file.");
};

const ENOENT = 2;
const EACCES = 13;

const cannotStart = (errno: number | undefined, cause: string): LlmcError => {
  if (errno === ENOENT)
    return new LlmcError("file_not_found", "The program, or the interpreter it names, is not there.", {
      hint: "In the sandbox, only the system's folders, the workspace and the program's own tool chain are visible.",
      cause,
    });
  if (errno === EACCES)
    return new LlmcError("permission_denied", "The program, or its interpreter, cannot be executed.", {
      cause,
    });
  return new LlmcError("unavailable", "The command's sandbox could not be set up.", {
    hint: "Run `llmc doctor` to see which sandbox this machine has.",
    cause,
  });
};

const BWRAP_ERRNO: Readonly<Record<string, number>> = {
  "No such file or directory": ENOENT,
  "Permission denied": EACCES,
};

const foldersChanged = (cause: string): LlmcError =>
  new LlmcError("busy", "Folders in the workspace changed while the command was being prepared.", {
    hint: "Nothing was run. Try again when whatever moves them has ended.",
    cause,
  });

/** What a launcher left behind: its report, and what the first process wrote to stderr. */
interface Launched {
  readonly report: string;
  readonly errors: Buffer;
  readonly wasUnready: boolean;
}

/** A launcher that failed before the program ran is our failure, not the command's. */
export const checkStarted = (
  tier: Tier,
  { writable, readableRoots = [] }: Pick<SandboxProfile, "writable" | "readableRoots">,
  { report, errors, wasUnready }: Launched,
): void => {
  if (tier === "bubblewrap" && !ranInside(report)) {
    const message = errors.toString("utf8", 0, 20_000);
    const why = /^bwrap: execvp .*: (.*)$/m.exec(message)?.[1];
    if (why !== undefined) throw cannotStart(BWRAP_ERRNO[why], message);
    // The sandbox works on this machine, so a mount failure means that a path has disappeared since the workspace was
    // scanned.
    const failed = /^bwrap: .*$/m.exec(message)?.[0] ?? "";
    const isOurs = [...writable, ...readableRoots].some((root) => root !== "/" && failed.includes(root));
    throw wasUnready || isOurs ? foldersChanged(message) : cannotStart(undefined, message);
  }
  if (tier === "landlock" && report !== "") {
    const { step, errno } = JSON.parse(report) as { step: string; errno: number };
    throw cannotStart(step === "execve" ? errno : undefined, report);
  }
};

/** Translates the error of the system about a program that it cannot start. */
export const explainStart = (thrown: unknown): unknown => {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  const errno = code === "ENOENT" ? ENOENT : code === "EACCES" ? EACCES : undefined;
  return errno === undefined ? thrown : cannotStart(errno, String(thrown));
};

/** Process trees, renaming by descriptor and every sandbox are made of what only Linux has. */
export const refuseElsewhere = (): LlmcError =>
  new LlmcError("unavailable", "Commands run on Linux only.", {
    hint: "Use the tools for files, search and retrieval here; on Windows, WSL is a Linux.",
  });
