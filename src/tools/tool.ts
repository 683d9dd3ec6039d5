import type { Envelope } from "../envelope/port.ts";
import type { System } from "../host/os/system.ts";
import type { Processes } from "../host/processes/contract.ts";
import type { Files } from "../host/read/files.ts";
import type { Search } from "../host/search/search.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { FileWrites } from "../host/write/contract.ts";
import type { CallerRetrieval } from "../retrieve/caller-retrieval.ts";
import type { CallContext, ContentBlock, Schema, SchemaOutput } from "./contract.ts";

/** What the engines offer to tools. The wiring derives everything else from this list. */
export interface EnginePorts {
  readonly files: Files;
  readonly writes: FileWrites;
  readonly search: Search;
  readonly handles: Handles;
  readonly envelope: Envelope;
  readonly processes: Processes;
  readonly system: System;
  readonly retrieval: CallerRetrieval;
}

/** All ports of a tool, which has no other access to the outside. */
export interface Ports extends EnginePorts {
  readonly server: ServerView;
}

/** What a tool may know about the server it runs in. */
export interface ServerView {
  health(): HealthView;
  metrics(): Promise<Readonly<Record<string, unknown>>>;
  /** Figures of the last minutes, of names that begin with the prefix. */
  metricsOver(minutes: number, prefix: string): MetricsOverTime;
  checkHealth(): Promise<HealthReport>;
  instructions(): string;
}

export interface MetricsOverTime {
  /** As they are now. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly histograms: Readonly<
    Record<
      string,
      {
        readonly count: number;
        readonly sum: number;
        readonly p50: number;
        readonly p95: number;
        readonly p99: number;
      }
    >
  >;
  readonly counters: Readonly<Record<string, number>>;
}

export interface HealthCheck {
  readonly name: string;
  readonly status: "ok" | "degraded" | "failed";
  readonly detail: string;
}

export interface HealthReport {
  readonly status: "healthy" | "degraded" | "unhealthy";
  readonly checks: readonly HealthCheck[];
}

export interface HealthView {
  readonly ok: boolean;
  /** Version of the configuration layout, as `/health` reports it. */
  readonly version: string;
  readonly program: string;
  readonly mode: string;
  readonly uptimeSeconds: number;
  readonly tools: number;
  /** Keys of the workspace's file that wait for `llmc trust`. */
  readonly waiting: readonly string[];
  /** Errors in policy files. */
  readonly problems: readonly string[];
}

/** What a tool does to the world. It drives the MCP annotations and what a caller must be allowed to do. */
export const EFFECTS = ["read", "write", "execute", "egress"] as const;
export type Effect = (typeof EFFECTS)[number];

export interface Tool<I extends Schema = Schema, O extends Schema = Schema, R = unknown> {
  readonly name: string;
  /** Other names that mean this tool; they are accepted and never listed. */
  readonly aliases?: readonly string[];
  /** A short name for people; by default, the tool's name. */
  readonly title?: string;
  /** One sentence. Every word is paid for in every session of every client. */
  readonly description: string;
  readonly effect: Effect;
  /** Tools that policy decides on together, besides what they do: `admin` ones ask the user unless a policy permits them. */
  readonly family?: "admin";
  readonly input: I;
  /** Left out by tools whose whole answer is content blocks. */
  readonly output?: O;
  /**
   * What it depends on and what may fail by itself, as people call it: after repeated failures its tools are refused at once
   * until it is well again.
   */
  readonly backend?: string;
  /** Own deadline, where the server's request timeout does not fit. */
  readonly timeoutMs?: number;
  run(args: SchemaOutput<I>, ports: Ports, call: CallContext): Promise<SchemaOutput<O> & R>;
  /**
   * What the model reads: complete, in as few tokens as possible. `returned` is what `run` returned, with what the
   * schema of the output does not have: text for the model that is not for programs.
   */
  render(output: SchemaOutput<O>, returned: SchemaOutput<O> & R): string | readonly ContentBlock[];
}

/** A tool by its name. The rest of it, and the modules it needs, are loaded when it is listed or called. */
export interface ToolEntry {
  readonly name: string;
  load(): Promise<Tool>;
}

/** Gives a tool its types; the list in all.ts forgets them again. */
export const defineTool = <I extends Schema, O extends Schema, R = unknown>(tool: Tool<I, O, R>): Tool =>
  tool as unknown as Tool;
