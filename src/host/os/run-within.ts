type Run = (work: () => unknown, ms: number) => void;

let run: Run | undefined;

/** The one way to interrupt what runs in this thread, a regular expression that backtracks included. */
const compileRun = (): Run => {
  const vm = process.getBuiltinModule("node:vm");
  const script = new vm.Script("work()");
  const surroundings: { work?: () => unknown } = {};
  const context = vm.createContext(surroundings);
  return (work, timeout) => {
    surroundings.work = work;
    try {
      script.runInContext(context, { timeout });
    } finally {
      delete surroundings.work;
    }
  };
};

/** The error is one of the script's own surroundings, where `Error` is another class. */
const isInterrupted = (thrown: unknown): boolean =>
  Reflect.get(Object(thrown), "code") === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** Does work that somebody else's text decides the length of; undefined where it took longer than this and was interrupted. */
export const runWithin = <T>(ms: number, work: () => T): { readonly value: T } | undefined => {
  run ??= compileRun();
  let done: { readonly value: T } | undefined;
  try {
    run(() => {
      done = { value: work() };
    }, ms);
  } catch (thrown) {
    if (!isInterrupted(thrown)) throw thrown;
  }
  return done;
};
