import { openSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { isInside } from "../../../base/paths.ts";
import { processLimit } from "../../os/process-limit.ts";
import { canMarkByLimit } from "../tree/limits.ts";
import type { TreeMark } from "../tree/process-scan.ts";
import type { Launch } from "../tree/process-tree.ts";
import type { CommandRequest, SandboxProfile } from "./contract.ts";
import { commandEnvironment, gitEnvironment } from "./environment.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import { SYSTEM_FOLDERS } from "./system-folders.ts";
import { toolChainOf } from "./tool-chain.ts";

/** What the launcher reads from its input. */
export interface LandlockSpec {
  readonly profile: SandboxProfile;
  readonly calledAs: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly readable: readonly string[];
  readonly privateFolders: readonly string[];
  readonly processLimit: number;
  readonly realtimeLimit: string | undefined;
  /** The program that bounds its own memory before it becomes the command. */
  readonly prlimit: string | undefined;
  readonly parent: number;
  /** Whether the standard streams are a terminal to be controlled. */
  readonly terminal: boolean;
  /** As if the kernel were older. */
  readonly maxAbi: number | undefined;
}

/** Beside this file, and built like it. */
const LAUNCHER = join(import.meta.dirname, `landlock-launch${extname(import.meta.filename)}`);

const isWithinSight = (program: string, profile: SandboxProfile): boolean =>
  [...profile.writable, ...(profile.readableRoots ?? [])].some((path) => isInside(program, path)) ||
  (SYSTEM_FOLDERS.some((path) => isInside(program, path)) &&
    profile.emptied?.some((path) => isInside(program, path)) !== true);

/**
 * Rules of the kernel on the process itself, for machines that allow no namespaces. What it cannot do is written
 * in docs/decisions/005-three-tiers-for-commands.md; above all, a folder that holds a protected name cannot get or lose entries of its own.
 */
export const landlockLaunch = (
  request: CommandRequest,
  profile: SandboxProfile,
  files: SandboxFiles,
  mark: TreeMark,
  maxAbi?: number,
): Launch => {
  const [program] = request.argv;
  const env = {
    ...commandEnvironment(files.home, files.temp, request, profile.network),
    ...gitEnvironment(request.git, files.gitUserFile),
    LLMC_COMMAND_ID: mark.id,
  };
  const spec: LandlockSpec = {
    profile,
    calledAs: request.calledAs,
    env,
    readable: [
      ...(isWithinSight(program, profile) ? [] : [toolChainOf(program)]),
      ...(request.git === undefined ? [] : [files.gitUserFile, files.gitIgnoreFile]),
    ],
    privateFolders: [files.home, files.temp],
    processLimit: processLimit(profile.limits?.processes),
    realtimeLimit: canMarkByLimit() ? mark.realtimeLimit : undefined,
    prlimit: files.prlimit,
    parent: process.pid,
    terminal: request.terminal === true,
    maxAbi,
  };
  const specFile = join(files.folder, "spec.json");
  writeFileSync(specFile, JSON.stringify(spec), { mode: 0o600 });
  return {
    file: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", LAUNCHER, ...request.argv],
    cwd: request.cwd,
    // The launcher's own, which the command never sees: it starts in two thirds of the time.
    env: { ...env, NODE_COMPILE_CACHE: files.compileCache },
    input: openSync(specFile, "r"),
    reports: true,
    mark,
  };
};
