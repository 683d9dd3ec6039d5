import type { ErrorCode } from "../base/error-table.ts";
import type { Envelope } from "../envelope/port.ts";
import type { System } from "../host/os/system.ts";
import type { Processes } from "../host/processes/contract.ts";
import type { Files } from "../host/read/files.ts";
import type { Search } from "../host/search/search.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { FileWrites } from "../host/write/contract.ts";
import type { Knowledge } from "../knowledge/api/port.ts";
import type { CallerRetrieval } from "../retrieve/caller-retrieval.ts";
import type { Rlm } from "../rlm/port.ts";
import type { NestedAnswer, Programs } from "../sandbox/programs.ts";
import type { CallContext, Caller, ContentBlock, Question, Schema, SchemaOutput } from "./contract.ts";

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
  readonly programs: Programs;
  readonly rlm: Rlm<Caller>;
  readonly knowledge: Knowledge;
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
  instructions(caller?: Caller): string;
  readonly stubs: StubView;
  /** Calls any tool, whatever the mode lists, as the caller of `call`: the same pipe, policy, limits and audit. */
  callTool(request: NestedRequest, call: CallContext): Promise<NestedAnswer<NestedQuestions>>;
  /** Whether policy, or the user, could ever let a caller use a tool, whatever the mode lists. */
  mayCall(tool: string, caller: Caller): Promise<boolean>;
  /** Fires when the client gives the request up, also after this round of it has ended with a question. */
  cancellationOf(call: CallContext): AbortSignal | undefined;
}

/** Declarations of all tools for programs, as files of a folder that is not on the disk. */
export interface StubView {
  /** The path below that folder; undefined for any other path. */
  pathOf(path: string): string | undefined;
  list(
    path: string,
    caller: Caller,
  ): Promise<readonly { readonly name: string; readonly type: "dir" | "file" }[]>;
  read(path: string, caller: Caller): Promise<string>;
  /** The tools that the words of a query name, best first. */
  search(
    query: string,
    limit: number,
    caller: Caller,
  ): Promise<readonly { readonly name: string; readonly description: string; readonly stub: string }[]>;
}

export type NestedQuestions = Readonly<Record<string, Question>>;

/** A tool call that a program makes. */
export interface NestedRequest {
  readonly tool: string;
  readonly args: unknown;
  readonly signal: AbortSignal;
  /** Where the call asked something before: its state, and how the client answered. */
  readonly answered: { readonly answers: unknown; readonly state: unknown } | undefined;
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
  /**
   * Tools that policy decides on together, besides what they do: `admin` ones ask the user unless a policy permits them;
   * `kb` ones are decided on with the knowledge bases and flows that a call names.
   */
  readonly family?: "admin" | "kb";
  readonly input: I;
  /**
   * The argument that names the file or folder that a call reaches: logs and the audit show it once a call has
   * succeeded. Of a tool that names none, they show a digest of the arguments.
   */
  readonly pathArgument?: string;
  /** Fields of which exactly one has to be given; the input schema checks it, too. */
  readonly exclusive?: readonly string[];
  /** Left out by tools whose whole answer is content blocks. */
  readonly output?: O;
  /**
   * The field of the output that is the whole answer, where the published API gives a list: structured content has to be
   * an object, text and `/invoke` carry the list itself.
   */
  readonly list?: string;
  /**
   * What it depends on and what may fail by itself, as people call it: after repeated failures its tools are refused at once
   * until it is well again.
   */
  readonly backend?: string;
  /** False: a call that failed is not made again by itself, although the tool only reads. */
  readonly isSafe?: false;
  /** The code that a failure is reported with, where a document names the few codes of the tool: asked about every failure. */
  reportedCode?(code: ErrorCode): ErrorCode;
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
