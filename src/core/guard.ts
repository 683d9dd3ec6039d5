import type { BoundedQueue } from "../base/bounded-queue.ts";
import { toLlmcError } from "../base/error.ts";
import type { Observer } from "../observe/observer.ts";
import type { CallTexts } from "../observe/records.ts";
import type { Subject } from "../observe/subject.ts";
import {
  type CallContext,
  type Caller,
  type LogLevel,
  type Question,
  QuestionsAsked,
} from "../tools/contract.ts";
import type { Effect } from "../tools/tool.ts";
import { startDeadline } from "./deadline.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { requireScopes } from "./require-scopes.ts";

/** Who sent a request, and how to report back. Every door provides one with each request. */
export interface Origin {
  readonly caller: Caller;
  readonly correlationId: string;
  /** The endpoint or method that the request came by; left out: the transport says it all. */
  readonly route?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Does the work in the slot that the door has taken for it, for as long as the work lasts; left out, it has none. */
  readonly hold?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /** W3C trace context of the caller, as received. */
  readonly traceparent?: string | undefined;
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  readonly state?: unknown;
  /** If omitted, the client cannot answer questions. */
  readonly canAsk?: ((kind: Question["kind"]) => boolean) | undefined;
  readonly progress?: ((done: number, total?: number, message?: string) => Promise<void>) | undefined;
  readonly log?: ((level: LogLevel, message: string) => Promise<void>) | undefined;
  readonly releaseStream?: (() => void) | undefined;
}

export interface Measured {
  readonly truncated: boolean;
  readonly texts: CallTexts;
  readonly subject?: () => Subject | undefined;
}

interface Served {
  /** What it is called in logs and metrics. */
  readonly kind: string;
  readonly input: () => string;
  readonly origin: Origin;
  readonly timeoutMs: number;
  /** Scopes that the caller needs in addition to `read`. */
  readonly needs?: readonly string[];
  /** What the work depends on; see `Dispatched`. */
  readonly backend?: string | undefined;
}

interface GuardParts {
  readonly queue: BoundedQueue;
  readonly dispatcher: Dispatcher;
  readonly observer: Observer;
  /** Milliseconds that only move forward. */
  readonly now: () => number;
}

const anywhere: NonNullable<Origin["hold"]> = (work) => work();
const silently = async (): Promise<void> => {};
const never = (): boolean => false;
const nothing = (): undefined => undefined;
const ask: CallContext["ask"] = (questions, state) => {
  throw new QuestionsAsked(questions, state);
};

const contextOf = (origin: Origin, signal: AbortSignal): CallContext => ({
  correlationId: origin.correlationId,
  caller: origin.caller,
  progress: origin.progress ?? silently,
  log: origin.log ?? silently,
  answers: origin.answers,
  state: origin.state,
  canAsk: origin.canAsk ?? never,
  ask,
  releaseStream: origin.releaseStream ?? nothing,
  signal,
});

/** Queue, deadline and record of any piece of work that a client asked for. */
export const createGuard = ({ queue, dispatcher, observer, now }: GuardParts) => {
  /** Runs the work once it has a slot of its effect and one of all, within its deadline. */
  const run = <T>(
    origin: Origin,
    timeoutMs: number,
    work: (context: CallContext) => T | Promise<T>,
    effect: Effect = "read",
  ): Promise<T> => {
    const { hold = anywhere, caller } = origin;
    return hold(async () => {
      const deadline = startDeadline(timeoutMs, origin.signal);
      // In this order everywhere: whoever waits for a slot of its effect holds none that others could use.
      const slots = [dispatcher.slotsOf(effect), queue];
      const held: BoundedQueue[] = [];
      try {
        for (const each of slots) {
          if (!each.tryEnter(caller.principal)) await each.wait(deadline.signal, caller.principal);
          held.push(each);
        }
        return await deadline.race(work(contextOf(origin, deadline.signal)));
      } finally {
        for (const each of held.toReversed()) each.release(caller.principal);
        deadline.end();
      }
    });
  };

  /** Opens the record of one piece of work; the returned function closes it. */
  const open = (origin: Origin) => {
    const startedAt = now();
    const trace = observer.startCall(origin.traceparent);
    return (tool: string, failure: unknown, { truncated, texts, subject = nothing }: Measured): void => {
      const error = failure === undefined ? undefined : toLlmcError(failure);
      trace.end(tool, error?.code);
      observer.recordCall(
        {
          tool,
          correlationId: origin.correlationId,
          agentId: origin.caller.agentId,
          sessionId: origin.caller.sessionId,
          model: origin.caller.model,
          budgetProfile: origin.caller.budgetProfile ?? "",
          route: origin.route ?? origin.caller.transport,
          subject,
          transport: origin.caller.transport,
          durationMs: now() - startedAt,
          truncated,
          errorCode: error?.code,
          traceId: trace.traceId,
          cause: error?.cause,
        },
        texts,
      );
    };
  };

  /** Runs work that is not a tool call, for a caller that may read, and records it. */
  const serve = async <T>(
    { kind, input, origin, timeoutMs, needs = [], backend }: Served,
    text: (value: T) => string,
    work: (context: CallContext) => T | Promise<T>,
  ): Promise<T> => {
    const close = open(origin);
    try {
      requireScopes(kind, ["read", ...needs], origin.caller.may);
      const effect = needs.includes("egress") ? "egress" : "read";
      // Not tried again: what it costs or does is not known here.
      const value = await dispatcher.run({ effect: "egress", backend }, origin.signal, () =>
        run(origin, timeoutMs, work, effect),
      );
      close(kind, undefined, { truncated: false, texts: { input, output: () => text(value) } });
      return value;
    } catch (thrown) {
      if (thrown instanceof QuestionsAsked) {
        close(kind, undefined, { truncated: false, texts: { input, output: () => "" } });
        throw thrown;
      }
      const error = toLlmcError(thrown);
      close(kind, error, { truncated: false, texts: { input, output: () => error.message } });
      throw error;
    }
  };

  return { run, open, serve };
};

export type Guard = ReturnType<typeof createGuard>;
