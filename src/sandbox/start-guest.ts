import { extname, join, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { ConfinementTier } from "../host/confine/contract.ts";
import { startConfined } from "../host/confine/start-confined.ts";
import { readProcStat } from "../host/os/proc-stat.ts";
import type { GuestSettings } from "./guest/messages.ts";
import { type GuestChannel, MS_PER_TICK, overStreams } from "./guest-channel.ts";

/** One of the programs in `guest`, and what it needs. */
export interface GuestProgram {
  /** Of `guestFile`. */
  readonly program: string;
  readonly settings: GuestSettings;
  /** Files and folders that it may read besides its own, by their real paths. */
  readonly files: readonly string[];
  /** What Node and the interpreter take, besides the memory of `settings`. */
  readonly runtimeMb: number;
}

/** Starts an interpreter in a process that reaches no files, no network and no other process. */
export type StartGuest = (program: GuestProgram) => Promise<GuestChannel>;

interface StarterParts {
  /** Whether something else isolates this server, so that programs may run without a sandbox of ours (REQ-D8). */
  readonly isIsolated: () => boolean;
  /** By default all in which the kernel holds a program. */
  readonly tiers?: readonly ConfinementTier[];
  readonly usesGroups?: boolean;
}

const MIB = 1024 * 1024;
/** The heap of a guest process holds little but the messages. */
const HEAP_MB = 96;
/** Of CPUs. An interpreter is compiled in threads of its own; a program itself has one. */
const CPU_SHARE = 2;
/** Nothing but pipes and the files of the interpreter is open. */
const DESCRIPTORS = 128;

const GUEST_FOLDER = join(import.meta.dirname, "guest");
/** Says that the files beside it are modules. */
const PACKAGE_FILE = resolve(import.meta.dirname, "../../package.json");

/** What every program in `guest` needs to be loaded. */
export const GUEST_FILES: readonly string[] = [GUEST_FOLDER, PACKAGE_FILE];

export const guestFile = (name: "quickjs-main" | "python-main" | "native-node-main"): string =>
  join(GUEST_FOLDER, `${name}${extname(import.meta.filename)}`);

/** Outside Linux nothing bounds memory and processor time of such a process. */
const PROGRAM_TIERS: readonly ConfinementTier[] =
  process.platform === "linux" ? ["bubblewrap", "landlock"] : [];

const notIsolated = (cause?: unknown): LlmcError =>
  new LlmcError("unavailable", "Programs run in a sandbox only, and this machine has none that works.", {
    hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later). In a container, the operator can set mcp.code_execution.trust_container.",
    retryable: false,
    cause,
  });

const startProcess = async (
  { program, settings, files, runtimeMb }: GuestProgram,
  tiers: readonly ConfinementTier[],
  usesGroups: boolean,
) =>
  startConfined(
    {
      program,
      code: [program, ...GUEST_FILES],
      readable: files,
      args: [JSON.stringify(settings)],
      stdio: ["pipe", "pipe", "pipe"],
      usesWebAssembly: true,
      limits: {
        memoryMb: Math.ceil(settings.memoryBytes / MIB) + runtimeMb,
        cpuShare: CPU_SHARE,
        descriptors: DESCRIPTORS,
      },
      nodeFlags: [
        "--disallow-code-generation-from-strings",
        "--no-addons",
        `--max-old-space-size=${HEAP_MB}`,
      ],
    },
    { tiers, usesGroups },
  );

export const createGuestStarter = ({ isIsolated, tiers, usesGroups = true }: StarterParts): StartGuest => {
  let hasStarted = false;
  const allowed = (): readonly ConfinementTier[] => [
    ...(tiers ?? PROGRAM_TIERS),
    ...(isIsolated() ? (["permission"] as const) : []),
  ];
  return async (program) => {
    const confined = await startProcess(program, allowed(), usesGroups).catch((thrown: unknown) => {
      // What worked before is not missing now: the failure is one of this start.
      const isMissing = thrown instanceof LlmcError && thrown.code === "unavailable" && !hasStarted;
      throw isMissing ? notIsolated(thrown.cause) : thrown;
    });
    hasStarted = true;
    const { stdin, stdout, stderr } = confined.child;
    if (stdin === null || stdout === null || stderr === null) throw new Error("a guest without pipes");
    const { close, ...channel } = overStreams(stdin, stdout, stderr);
    let wasOverMemory = false;
    const end = async (): Promise<void> => {
      ({ wasOverMemory } = await confined.gone);
      close();
    };
    const ended = end();
    return {
      ...channel,
      ended,
      cpuMs: () => (readProcStat(confined.pid)?.cpuTicks ?? 0) * MS_PER_TICK,
      wasOverMemory: () => wasOverMemory,
      kill: () => {
        confined.kill();
        return ended;
      },
    };
  };
};
