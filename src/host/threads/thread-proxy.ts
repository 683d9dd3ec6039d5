import { deadlineOf, setDeadline } from "../../base/deadline-of.ts";
import type { ThreadHandlers } from "./serve-thread.ts";
import type { Thread } from "./thread.ts";

/** An argument of a call. A signal and a callback cannot be sent: their places are, and they work across the threads. */
type Argument = { readonly value: unknown } | { readonly sent: "signal" | "callback" };

/** `context` goes with every call, such as settings that may have changed since the last one. */
interface RemoteCall<Context> {
  readonly context: Context;
  readonly args: readonly Argument[];
  /** Of the signal. */
  readonly deadlineMs: number;
}

/** A call of the callback at a position of the arguments, or an event of the thread's own. */
type RemoteEvent<Event> =
  | { readonly callback: number; readonly args: readonly unknown[] }
  | { readonly event: Event };

export type RemoteMethods<Context, Event> = Readonly<
  Record<
    string,
    { readonly takes: RemoteCall<Context>; readonly gives: unknown; readonly emits: RemoteEvent<Event> }
  >
>;

type Method = (...args: unknown[]) => unknown;

/** The methods of an object, for `serveThread`. Events that have come up are sent at the end of each call. */
export const handlersOf = <Context, Event>(
  target: object,
  onContext: (context: Context) => void,
  takeEvents: () => readonly Event[],
): ThreadHandlers<RemoteMethods<Context, Event>> => {
  const methods = Object.entries(target as Readonly<Record<string, Method>>);
  return Object.fromEntries(
    methods.map(([name, method]) => [
      name,
      async (
        { context, args, deadlineMs }: RemoteCall<Context>,
        {
          signal,
          emit,
        }: { readonly signal: AbortSignal; readonly emit: (event: RemoteEvent<Event>) => void },
      ) => {
        onContext(context);
        setDeadline(signal, deadlineMs);
        const received = args.map((argument, index) => {
          if ("value" in argument) return argument.value;
          if (argument.sent === "signal") return signal;
          return (...values: readonly unknown[]) => emit({ callback: index, args: values });
        });
        try {
          return await method(...received);
        } finally {
          for (const event of takeEvents()) emit({ event });
        }
      },
    ]),
  );
};

/**
 * An object in another thread, with the type that it has there. Arguments and results are plain data, apart from one
 * AbortSignal and callbacks without a result.
 */
export const createThreadProxy = <T extends object, Context, Event>(
  thread: () => Thread<RemoteMethods<Context, Event>>,
  contextOf: () => Context,
  onEvent: (event: Event) => void,
): T => {
  const call = async (method: string, args: readonly unknown[]): Promise<unknown> => {
    const signal = args.find((argument) => argument instanceof AbortSignal);
    const sent = args.map((argument): Argument => {
      if (argument instanceof AbortSignal) return { sent: "signal" };
      return typeof argument === "function" ? { sent: "callback" } : { value: argument };
    });
    const receive = (event: RemoteEvent<Event>): void => {
      if ("event" in event) onEvent(event.event);
      else (args[event.callback] as Method)(...event.args);
    };
    const remote = { context: contextOf(), args: sent, deadlineMs: deadlineOf(signal) };
    return thread().call(method, remote, { signal, onEvent: receive });
  };
  return new Proxy({} as T, {
    // A proxy that seems to have a method `then` would be taken for a promise.
    get: (_, method) =>
      typeof method === "symbol" || method === "then"
        ? undefined
        : (...args: readonly unknown[]) => call(method, args),
  });
};
