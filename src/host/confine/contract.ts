import type { ChildProcess, StdioOptions } from "node:child_process";

/**
 * How a program is confined: in namespaces of its own, by kernel rules on the process itself, by the profile of macOS, or
 * by nothing but Node's permission model.
 */
export type ConfinementTier = "bubblewrap" | "landlock" | "seatbelt" | "permission";

/** Those that the kernel enforces; elsewhere there is nothing to gain from a process of its own. */
export const KERNEL_TIERS: Readonly<Record<string, readonly ConfinementTier[]>> = {
  linux: ["bubblewrap", "landlock"],
  darwin: ["seatbelt"],
};

export const RESOURCES = ["files", "network", "processes", "memory", "cpu"] as const;
export type Resource = (typeof RESOURCES)[number];

/** By what something is held, or why it is not. */
export interface Hold {
  /** Whether the kernel refuses, and not only Node or our own code. */
  readonly byKernel: boolean;
  /** The mechanism in a few words, or what is missing. */
  readonly mechanism: string;
}

export type Held = Readonly<Record<Resource, Hold>>;

/** Of the front (REQ-I1). */
export const FRONT_CPU_SHARE = 0.5;

export interface ConfinedLimits {
  readonly memoryMb: number;
  /** Of one CPU: 0.5 is half of one. */
  readonly cpuShare: number;
  /**
   * Threads at once: Node itself has about ten. Exact in a control group; otherwise added to those that the user already
   * has.
   */
  readonly threads?: number;
  /** Descriptors at once, those of connections included. */
  readonly descriptors?: number;
}

/**
 * Inside, there is no /proc and no list of users or hosts: `process.memoryUsage()`, `os.userInfo()`,
 * `os.networkInterfaces()` and `dns.lookup()` throw; `process.resourceUsage()` and `v8.getHeapStatistics()` do not.
 */
export interface ConfinedProgram {
  /** The JavaScript (or TypeScript) file of ours to run; absolute, as all paths here. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Files and folders of ours that the program loads, itself included by default. */
  readonly code?: readonly string[];
  /** What else it may read: data. */
  readonly readable?: readonly string[];
  /**
   * As for `spawn`; the position is the number of the descriptor inside. Nothing else is inherited. It can make no socket
   * and connect none: whom it is to talk to connects to a listener that it inherits, or hands it a connection.
   */
  readonly stdio?: Exclude<StdioOptions, string>;
  /** The whole environment inside. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits: ConfinedLimits;
  /** Without a compiler Node has no WebAssembly: where RLIMIT_DATA holds the memory, it holds 512 MiB more then. */
  readonly usesWebAssembly?: boolean;
  readonly nodeFlags?: readonly string[];
}

export interface ConfinedEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether the kernel ended it because its control group had no memory left. */
  readonly wasOverMemory: boolean;
}

export interface Confined {
  /** The process that was started; its streams are the program's. With bubblewrap, the program is a child of it. */
  readonly child: ChildProcess;
  /** The program's own process, as this machine counts. */
  readonly pid: number;
  readonly tier: ConfinementTier;
  readonly held: Held;
  /** Ends it at once. */
  kill(): void;
  /** Asks it to end with SIGTERM, which a program without a handler may ignore, and ends it after the time. */
  stop(graceMs?: number): Promise<void>;
  /** When it is gone, and everything that was made for it removed. */
  readonly gone: Promise<ConfinedEnd>;
}
