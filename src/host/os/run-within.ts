import { isNativeError } from "node:util/types";
import { type Context, createContext, Script } from "node:vm";

const RUN = new Script("work()");

let context: Context | undefined;

/** The error belongs to the context, so it is no instance of our `Error`. */
const isTimeout = (error: unknown): boolean =>
  isNativeError(error) && Reflect.get(error, "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/**
 * Runs work that does not wait, and ends it when its time is up: nothing else interrupts a regular expression that
 * backtracks, and no deadline fires beside it. Undefined if it was ended. Takes half a millisecond, for its watchdog.
 */
export const runWithin = <T>(work: () => T, timeoutMs: number): { readonly value: T } | undefined => {
  let done: { readonly value: T } | undefined;
  context ??= createContext({});
  context["work"] = (): void => {
    done = { value: work() };
  };
  try {
    RUN.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  } finally {
    context["work"] = undefined;
  }
  return done;
};
