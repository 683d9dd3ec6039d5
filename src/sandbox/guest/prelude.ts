import { MAX_TIMERS } from "./bounds.ts";

/**
 * The program's surroundings, evaluated inside the interpreter before any program: a text, because it is code of the guest.
 * It keeps its own copies of what it needs from the language, so that a program that changes `JSON` or `Promise` harms
 * nobody but itself, and everything crosses the border as text.
 */
export const PRELUDE = String.raw`((bridge) => {
  "use strict";
  const { stringify, parse } = JSON;
  const { create, defineProperty, freeze, fromEntries, keys } = Object;
  const { apply } = Reflect;
  const NativePromise = Promise, NativeMap = Map, NativeSet = Set, NativeError = Error, NativeString = String;
  const NativeTypeError = TypeError, NativeRangeError = RangeError, NativeProxy = Proxy, Bytes = Uint8Array;
  const isArray = Array.isArray;
  const method = (own) => (self, ...args) => apply(own, self, args);
  const get = method(Map.prototype.get), set = method(Map.prototype.set), remove = method(Map.prototype.delete);
  const each = method(Map.prototype.forEach), eachOf = method(Set.prototype.forEach);
  const join = method(Array.prototype.join), push = method(Array.prototype.push);
  const recall = method(WeakMap.prototype.get), remember = method(WeakMap.prototype.set);
  const part = method(Bytes.prototype.subarray);
  const some = method(Array.prototype.some), allOf = NativePromise.all.bind(NativePromise);
  const charOf = NativeString.fromCharCode;
  const { call, output, startTimer, stopTimer } = bridge;
  const global = globalThis;

  class ToolError extends NativeError {
    constructor({ code, message, retryable }, stack) {
      super(message);
      this.code = code;
      this.retryable = retryable;
      // Where the program called the tool: the failure itself comes from outside.
      defineProperty(this, "stack", { value: stack, writable: true, configurable: true });
    }
    get name() { return "ToolError"; }
  }

  const plain = (key, value) => {
    if (typeof value === "bigint") return NativeString(value);
    if (typeof value === "function" || typeof value === "symbol") return "[" + typeof value + "]";
    if (value instanceof NativeMap) {
      const entries = [];
      each(value, (item, name) => push(entries, [NativeString(name), item]));
      return fromEntries(entries);
    }
    if (value instanceof NativeSet) {
      const items = [];
      eachOf(value, (item) => push(items, item));
      return items;
    }
    if (value instanceof NativeError) return { name: value.name, message: value.message };
    return value;
  };
  const show = (value) => {
    if (typeof value === "string") return value;
    if (value === undefined) return "undefined";
    if (value instanceof NativeError) return value.name + ": " + value.message;
    try {
      return stringify(value, plain);
    } catch {
      return NativeString(value);
    }
  };
  const print = (...values) => {
    const shown = [];
    for (let i = 0; i < values.length; i++) push(shown, show(values[i]));
    output(join(shown, " ") + "\n");
  };

  const waiting = new NativeMap();
  let calls = 0;
  const callTool = (name, args) =>
    new NativePromise((resolve, reject) => {
      const text = stringify(args === undefined ? {} : args, (key, value) =>
        typeof value === "bigint" ? NativeString(value) : value);
      if (typeof text !== "string") throw new NativeTypeError("A tool takes one object of arguments.");
      const id = ++calls;
      set(waiting, id, { resolve, reject, stack: new NativeError().stack });
      call(id, NativeString(name), text);
    });
  const tools = new NativeProxy(create(null), {
    get: (target, name) =>
      typeof name !== "string" || name === "then" ? undefined : (args) => callTool(name, args),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  });

  const workspace = new NativeMap();
  const nameOf = (name) => {
    if (typeof name !== "string" || name === "") throw new NativeTypeError("A file needs a name.");
    return name;
  };
  // What is kept is never changed, only replaced: it is converted once, in parts, because arguments are bounded.
  const converted = new WeakMap();
  const latin1Of = (bytes) => {
    const known = recall(converted, bytes);
    if (known !== undefined) return known;
    const parts = [];
    for (let at = 0; at < bytes.length; at += 4096) push(parts, apply(charOf, null, part(bytes, at, at + 4096)));
    const text = join(parts, "");
    remember(converted, bytes, text);
    return text;
  };
  const copyOf = (content) => (content instanceof Bytes ? new Bytes(content) : content);
  const files = freeze({
    write: (name, content) => {
      const isKept = typeof content === "string" || content instanceof Bytes;
      set(workspace, nameOf(name), isKept ? copyOf(content) : show(content));
    },
    read: (name) => {
      const content = get(workspace, nameOf(name));
      if (content === undefined) throw new NativeError("There is no file " + name + " in the ephemeral workspace.");
      return copyOf(content);
    },
    remove: (name) => remove(workspace, nameOf(name)),
    list: () => {
      const names = [];
      each(workspace, (text, name) => push(names, name));
      return names;
    },
  });

  const timers = new NativeMap();
  let lastTimer = 0;
  const startOne = (work, ms, args, repeats) => {
    if (typeof work !== "function") throw new NativeTypeError("A timer takes a function.");
    const id = ++lastTimer;
    const wait = +ms || 0;
    if (!startTimer(id, wait)) throw new NativeRangeError("Too many timers are waiting: ${MAX_TIMERS} at most.");
    set(timers, id, { work: () => work(...args), wait, repeats });
    return id;
  };
  const setTimeout = (work, ms, ...args) => startOne(work, ms, args, false);
  const setInterval = (work, ms, ...args) => startOne(work, ms, args, true);
  const clearTimeout = (id) => {
    if (remove(timers, id)) stopTimer(id);
  };

  const define = (name, value) =>
    defineProperty(global, name, { value, writable: true, configurable: true, enumerable: false });
  const console = freeze({ log: print, info: print, warn: print, error: print, debug: print });
  const clearInterval = clearTimeout;
  const fixed = { tools, files, console, setTimeout, clearTimeout, setInterval, clearInterval, ToolError };
  for (const name of keys(fixed)) define(name, fixed[name]);

  const numberOf = (value) => (typeof value === "number" ? value : undefined);
  return freeze({
    begin: (inputs) => {
      each(timers, (timer, id) => remove(timers, id));
      define("inputs", parse(inputs));
    },
    settle: (id, text) => {
      const one = get(waiting, id);
      if (remove(waiting, id)) one.resolve(parse(text));
    },
    fail: (id, text) => {
      const one = get(waiting, id);
      if (remove(waiting, id)) one.reject(new ToolError(parse(text), one.stack));
    },
    fire: (id) => {
      const timer = get(timers, id);
      if (timer === undefined) return;
      if (timer.repeats) startTimer(id, timer.wait);
      else remove(timers, id);
      timer.work();
    },
    // The last expression is often the promise of the program's main function: its value, or its failure, is the result.
    settled: async (program) => {
      const { value } = await program;
      const isList = isArray(value) && some(value, (one) => one instanceof NativePromise);
      return { value: await (isList ? allOf(value) : value) };
    },
    result: (wrapped) => {
      const { value } = wrapped;
      return value === undefined ? undefined : stringify(value, plain);
    },
    describe: (thrown) => {
      const isError = thrown instanceof NativeError;
      return stringify({
        name: isError ? NativeString(thrown.name) : "Error",
        message: isError ? NativeString(thrown.message) : show(thrown),
        stack: isError ? NativeString(thrown.stack) : "",
        line: isError ? numberOf(thrown.lineNumber) : undefined,
        code: thrown instanceof ToolError ? NativeString(thrown.code) : undefined,
        retryable: thrown instanceof ToolError ? thrown.retryable === true : undefined,
      });
    },
    files: () => {
      const all = [];
      each(workspace, (content, name) =>
        push(all, content instanceof Bytes ? { name, latin1: latin1Of(content) } : { name, text: content }));
      return stringify(all);
    },
  });
})`;
