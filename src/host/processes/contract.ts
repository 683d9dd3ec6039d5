import type { CommandSession } from "../run/contract.ts";
import type { Tier } from "../run/tiers/contract.ts";

export interface ProcessCall {
  readonly command: string;
  /** As the caller wrote it; by default, the workspace. */
  readonly cwd: string | undefined;
  /** Whether it gets a terminal of its own. */
  readonly pty: boolean;
}

/**
 * Whose processes these are; to anybody else they do not exist. The rest is passed to the process as information about
 * its caller.
 */
export interface ProcessOwner extends CommandSession {
  readonly owner: string;
  /** The caller's scopes. */
  readonly may: ReadonlySet<string>;
}

export type ProcessState = "running" | "ended";

export interface ProcessView {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly tier: Tier;
  readonly pty: boolean;
  readonly state: ProcessState;
  readonly runtimeMs: number;
  readonly outputBytes: number;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Why we ended it, where we did, or the limit that it ran into. */
  readonly reason: string | undefined;
}

export interface ProcessOutput extends ProcessView {
  readonly text: string;
  /** Where the next output begins: bytes since the start. */
  readonly next: number;
  /** Bytes that were asked for and are no longer kept. */
  readonly lostBytes: number;
  /** It shows a prompt, or sleeps until it gets input. */
  readonly waitsForInput: boolean;
}

export interface ReadRequest {
  /** Byte to begin with; by default, where the last read ended. */
  readonly from?: number | undefined;
  /** Only the last lines of what is kept. */
  readonly lines?: number | undefined;
  /** How long to wait for output that has not come yet. */
  readonly waitMs: number;
}

export interface SendRequest {
  /** A line; its end is added. */
  readonly input?: string | undefined;
  /** A key by name, such as `ctrl-c`, or one character, which is sent without a line end. */
  readonly key?: string | undefined;
  readonly waitMs: number;
}

export type KillTarget = { readonly id: string } | { readonly pid: number };

/** Long-running and interactive processes of clients. */
export interface Processes {
  start(call: ProcessCall, owner: ProcessOwner, waitMs: number, signal?: AbortSignal): Promise<ProcessOutput>;
  read(id: string, request: ReadRequest, owner: ProcessOwner, signal?: AbortSignal): Promise<ProcessOutput>;
  send(id: string, request: SendRequest, owner: ProcessOwner, signal?: AbortSignal): Promise<ProcessOutput>;
  /** SIGTERM, and after a time of grace the end of the whole tree. */
  stop(id: string, owner: ProcessOwner): Promise<ProcessOutput>;
  /** SIGKILL reaches the whole tree at once, another signal its processes; a bare pid only that process. */
  kill(target: KillTarget, signal: NodeJS.Signals, owner: ProcessOwner): Promise<ProcessView | undefined>;
  list(owner: ProcessOwner): Promise<readonly ProcessView[]>;
  /** Ends and forgets all processes of an owner who may no longer have any. */
  endAll(owner: string, reason: string): Promise<void>;
}

/** The streams of one process, seen from our side. */
export interface Channel {
  /** What the child gets; handed out once, and closed by whoever takes it. */
  childStdio(): readonly [number, number, number];
  onData(listener: (chunk: Buffer) => void): void;
  /** Resolves when the output has ended. */
  readonly ended: Promise<void>;
  /** Queues input without waiting. Returns false, and takes nothing, if the queue is full. */
  write(bytes: Buffer): boolean;
  /** No more input. */
  endInput(): void;
  pause(): void;
  resume(): void;
  close(): void;
}
