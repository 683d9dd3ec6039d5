/**
 * The types that tools and the pipe share: schemas, contexts, content, questions to the client. Custom modules are
 * written against these types, so a change here is a change for strangers.
 */

import type { LlmcError } from "../base/error.ts";
import { Suspended } from "../base/suspended.ts";
import type { CommandSession } from "../host/run/contract.ts";

/** Any schema that validates and can describe itself as JSON Schema (Standard Schema; zod is one). */
export interface Schema<T = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
      readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
    readonly types?: { readonly output: T } | undefined;
  };
}

export type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type SchemaOutput<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];

export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: ResourceContent }
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string };

export type ResourceContent =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };

/** Who calls. Never guessed: what the transport or the call did not say comes from the configuration. */
export interface Caller {
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
  /** What the operator may charge the call to; left out if it is unknown. */
  readonly budgetProfile?: string;
  readonly transport: "stdio" | "http" | "cli" | "socket";
  /**
   * Owner of what is kept, such as handles. Set by the door alone: the token over HTTP, otherwise the operating-system
   * user (`LOCAL`). The names above are labels that a caller may choose; nothing belongs to them.
   */
  readonly principal: string;
  /** Owner of what is alive, such as processes and budgets: the token over HTTP, otherwise the connection. */
  readonly owner: string;
  /** The effects this caller may have. */
  readonly may: ReadonlySet<string>;
  /** Whether the caller may read files, as `read_file` does, without asking anybody; set by the pipe for each call. */
  readonly mayRead?: () => boolean;
  /** What policy and the user say to a program that a port is about to start; set by the pipe for each call. */
  readonly permit?: CommandSession["permit"];
  /** The same to files that a command line reads or writes by itself. */
  readonly permitFiles?: CommandSession["permitFiles"];
  /** The same to a knowledge base that the call names, before it is looked up; and to a flow. */
  readonly permitCollection?: (name: string) => void;
  readonly permitFlow?: (id: string) => void;
  /**
   * The same to a host that text is about to be sent to: returns if it may be, throws otherwise. `refusal` is how the
   * configuration refuses it, if it does.
   */
  readonly permitHost?: (request: { readonly host: string; readonly refusal: LlmcError | undefined }) => void;
  /** Does work that depends on a backend besides that of the tool, which has a circuit breaker of its own; set by the pipe. */
  readonly runOn?: <T>(backend: string, work: () => Promise<T>) => Promise<T>;
}

/** The principal of everybody who reaches the workspace as its operating-system user. */
export const LOCAL = "local";

const TOKEN = /^token:([^:]+):/;

/** How policies and people name a principal. Of a token: its name, since the principal changes with the secret. */
export const principalName = (principal: string): string => TOKEN.exec(principal)?.[1] ?? principal;

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Something only the client can answer: a form for its user, or a completion by its model. */
export type Question =
  | {
      readonly kind: "form";
      readonly message: string;
      readonly schema: Readonly<Record<string, unknown>>;
      /** What `llmc allow` would grant for good, where that would answer the question, too. */
      readonly allow?: readonly string[];
      /** How long the person is waited for where the server waits; left out, as long as for a model. */
      readonly timeoutMs?: number;
    }
  | { readonly kind: "sampling"; readonly request: Readonly<Record<string, unknown>> }
  | { readonly kind: "roots" };

/** Instead of an answer: the client was asked, and nobody answered in time, or it failed. Whoever asked may read it as a cancelled form. */
export const UNANSWERED = { action: "cancel", unanswered: true } as const;

/** What a running call can do besides its own work. */
export interface CallContext {
  readonly correlationId: string;
  readonly caller: Caller;
  /** Ends the work: the caller cancelled or went away, or the deadline passed. */
  readonly signal: AbortSignal;
  progress(done: number, total?: number, message?: string): Promise<void>;
  /** A message for the client's log, not ours. */
  log(level: LogLevel, message: string): Promise<void>;
  /** Answers to earlier questions, as the client gave them: untrusted. */
  readonly answers: Readonly<Record<string, unknown>> | undefined;
  /** State that an earlier round left with the client; its integrity has been verified. */
  readonly state: unknown;
  /** Whether the client can answer questions of this kind; a round with one that it cannot answer is refused. */
  canAsk(kind: Question["kind"]): boolean;
  /** Ends this round with questions to the client; the tool runs again from the start when the answers are there. */
  ask(questions: Readonly<Record<string, Question>>, state?: unknown): never;
  /** Closes the stream of this call, so that the client comes back for the rest. Does nothing if there is no stream. */
  releaseStream(): void;
}

/** Thrown by `ask`; caught by the pipe. */
export class QuestionsAsked extends Suspended {
  override readonly name = "QuestionsAsked";
  readonly questions: Readonly<Record<string, Question>>;
  readonly state: unknown;

  constructor(questions: Readonly<Record<string, Question>>, state: unknown) {
    super("The call waits for answers of the client.");
    this.questions = questions;
    this.state = state;
  }
}

export interface PromptArgument {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  /** Suggestions for a value that is being typed. */
  complete?(value: string): readonly string[] | Promise<readonly string[]>;
}

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly PromptArgument[];
  get(args: Readonly<Record<string, string>>, call: CallContext): Promise<readonly PromptMessage[]>;
}

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  read(call: CallContext): Promise<ResourceContent>;
}

export interface ResourceTemplate {
  /** RFC 6570, such as `notes://{name}`. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
  read(uri: string, variables: Readonly<Record<string, string>>, call: CallContext): Promise<ResourceContent>;
  complete?(
    variable: string,
    value: string,
    call: CallContext,
  ): readonly string[] | Promise<readonly string[]>;
}
