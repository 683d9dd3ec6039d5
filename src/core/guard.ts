import type { BoundedQueue } from "../base/bounded-queue.ts";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { stopIfAborted } from "../base/stop-if-aborted.ts";
import { type CallContext, QuestionsAsked } from "../tools/contract.ts";
import type { Effect } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { type CallLog, createCallLogs, type LogParts } from "./call-log.ts";
import { startDeadline } from "./deadline.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Origin, Slot } from "./origin.ts";

interface Served {
  /** What it is called in logs and metrics. */
  readonly kind: string;
  readonly input: () => string;
  readonly origin: Origin;
  readonly timeoutMs: number;
  /** Further actions of policy that the work comes to. */
  readonly also?: readonly string[];
}

interface GuardParts extends LogParts {
  readonly queue: BoundedQueue;
  readonly dispatcher: Dispatcher;
  readonly authorizer: Authorizer;
}

/** Nothing that the call needs has failed: others were served before it. */
const explainWaiting = (thrown: unknown): never => {
  if (toLlmcError(thrown).code !== "timeout") throw thrown;
  throw new LlmcError("busy", "The call waited for its turn until its deadline.", {
    hint: "Wait for some of your calls to finish, then try again.",
  });
};

const ANYWHERE: Slot = { hold: (work) => work(), leave: (wait) => wait() };
const silently = async (): Promise<void> => {};
const never = (): boolean => false;
const nothing = (): undefined => undefined;
const ask: CallContext["ask"] = (questions, state) => {
  throw new QuestionsAsked(questions, state);
};

const contextOf = (origin: Origin, signal: AbortSignal, { runOn }: Dispatcher): CallContext => ({
  correlationId: origin.correlationId,
  caller: {
    ...origin.caller,
    runOn: (backend, work) => runOn(backend, origin.caller.principal, work),
  },
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
export const createGuard = ({ queue, dispatcher, authorizer, ...logParts }: GuardParts) => {
  const open = createCallLogs(logParts);
  const origins = new WeakMap<CallContext, Origin>();

  /** Runs the work once it has a slot of its effect and one of all, within its deadline. */
  const run = <T>(
    origin: Origin,
    timeoutMs: number,
    work: (context: CallContext) => T | Promise<T>,
    effect: Effect = "read",
  ): Promise<T> => {
    const { slot = ANYWHERE, caller, isNested = false } = origin;
    return slot.hold(async () => {
      const deadline = startDeadline(timeoutMs, origin.signal);
      // In this order everywhere: whoever waits for a slot of its effect holds none that others could use.
      const slots = isNested ? [] : [dispatcher.slotsOf(effect), queue];
      const held: BoundedQueue[] = [];
      try {
        for (const each of slots) {
          if (!each.tryEnter(caller.principal))
            await each.wait(deadline.signal, caller.principal).catch(explainWaiting);
          held.push(each);
        }
        stopIfAborted(deadline.signal);
        const context = contextOf(origin, deadline.signal, dispatcher);
        origins.set(context, origin);
        return await deadline.race(work(context));
      } finally {
        for (const each of held.toReversed()) each.release(caller.principal);
        deadline.end();
      }
    }, origin.signal);
  };

  const guarded = async <T>(
    { kind, origin: asked, timeoutMs, also = [] }: Served,
    log: CallLog,
    text: (value: T) => string,
    work: (context: CallContext) => T | Promise<T>,
  ): Promise<T> => {
    await log.ready();
    const { origin, effect } = authorizer.authorizeEndpoint([kind, ...also], asked, log);
    // Not tried again: what it costs or does is not known here.
    const value = await dispatcher.run({ effect, isSafe: false }, origin, () =>
      run(origin, timeoutMs, work, effect),
    );
    log.close(undefined, { truncated: false, output: () => text(value) });
    return value;
  };

  /** Runs work that is not a tool call, for a caller that policy lets do it, and records it. */
  const serve = async <T>(
    served: Served,
    text: (value: T) => string,
    work: (context: CallContext) => T | Promise<T>,
  ): Promise<T> => {
    const { kind, input, origin } = served;
    const log = open(origin, { tool: kind, input });
    try {
      return await guarded(served, log, text, work);
    } catch (thrown) {
      if (thrown instanceof QuestionsAsked) {
        log.close("questions", { truncated: false, output: () => "" });
        throw thrown;
      }
      const error = toLlmcError(thrown);
      log.close(error, { truncated: false, output: () => error.message });
      throw error;
    }
  };

  return {
    run,
    open,
    serve,
    /** Where the work with this context comes from. */
    originOf: (context: CallContext): Origin | undefined => origins.get(context),
  };
};

export type Guard = ReturnType<typeof createGuard>;
