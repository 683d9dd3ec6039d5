/** A port, all of whose methods are asynchronous. */
type Port = Readonly<Record<string, unknown>> | object;

/**
 * Stands for a port whose engine is loaded when it is first used. Starting the server loads none of them: a client waits
 * for the tool list, which needs no engine.
 */
export const lazyPort = <T extends Port>(load: () => Promise<T>): T => {
  let loading: Promise<T> | undefined;
  return new Proxy({} as T, {
    get:
      (_target, method) =>
      (...args: unknown[]) => {
        loading ??= load();
        return loading.then((engine) => {
          const own = Reflect.get(engine, method) as (...given: unknown[]) => unknown;
          return own.apply(engine, args);
        });
      },
  });
};

/** Stands for whichever port is in force at the time of a call. */
export const currentPort = <T extends Port>(current: () => T): T =>
  new Proxy({} as T, {
    get: (_target, method) => {
      const port = current();
      const own: unknown = Reflect.get(port, method);
      return typeof own === "function" ? own.bind(port) : own;
    },
  });
