/**
 * Stands for a port whose engine is loaded when a method of it is first called; all its methods are asynchronous.
 * Starting the server loads no engine: a client waits for the tool list, which needs none. `load` is asked at each call
 * and remembers what it loaded.
 */
export const lazyPort = <T extends object>(load: () => Promise<T>): T =>
  new Proxy({} as T, {
    get:
      (_target, method) =>
      async (...args: unknown[]) => {
        const port = await load();
        const own = Reflect.get(port, method) as (...given: unknown[]) => unknown;
        return own.apply(port, args);
      },
  });

/** `own`, extended by a lazy port for every other name that is accessed. */
export const lazyPorts = <T extends object, O extends object>(own: O, load: () => Promise<T>): T & O =>
  new Proxy({ ...own } as T & O, {
    get: (target, name) => {
      if (!Object.hasOwn(target, name)) {
        const port = lazyPort(async () => Reflect.get(await load(), name) as object);
        Object.defineProperty(target, name, { value: port });
      }
      return Reflect.get(target, name);
    },
  });

/** Forwards each call to the port that is current at that time. */
export const currentPort = <T extends object>(current: () => T): T =>
  new Proxy({} as T, {
    get: (_target, method) => {
      const port = current();
      const own: unknown = Reflect.get(port, method);
      return typeof own === "function" ? own.bind(port) : own;
    },
  });
