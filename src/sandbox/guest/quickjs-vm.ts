import { pathToFileURL } from "node:url";
import type {
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSSyncVariant,
} from "quickjs-emscripten-core";
import type { GuestSettings, ProgramError } from "./messages.ts";
import { PRELUDE } from "./prelude.ts";
import { type Described, toProgramError, UNSHOWN } from "./program-error.ts";
import { declareAsVar } from "./top-level-names.ts";
import { WEB_PRELUDE } from "./web-prelude.ts";

/** WebAssembly has no type in Node's library. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Memory: new (bounds: {
      readonly initial: number;
      readonly maximum: number;
    }) => {
      grow(pages: number): number;
    };
  };
};
const PAGE_BYTES = 65_536;
/** What the build asks for at its start. */
const INITIAL_PAGES = 256;
/** Beyond it a deep recursion of a program would overflow the stack of this process instead of its own. */
const STACK_BYTES = 128 * 1024;
/** JS_EVAL_FLAG_ASYNC of quickjs.h: a script with top-level `await`, whose last expression is the result. */
const ASYNC_SCRIPT = 1 << 7;
const PROGRAM = "program";
const NEVER_SETTLES: ProgramError = {
  name: "Error",
  message: "The program waits for a promise that nothing will settle.",
};
/** As the interpreter itself says it where it can. */
const OUT_OF_MEMORY: ProgramError = { name: "InternalError", message: "out of memory" };

/** What a program reaches outside of the interpreter; all of it takes and gives text and numbers. */
export interface Bridge {
  call(id: number, name: string, args: string): void;
  output(text: string): void;
  /** False if too many are waiting. */
  startTimer(id: number, ms: number): boolean;
  stopTimer(id: number): void;
}

export interface Vm {
  /**
   * The error of a program that waits for something that can never happen. The interpreter silently drops the job of a
   * promise for which it has no memory.
   */
  neverSettles(): ProgramError;
  begin(inputs: string): void;
  /** Starts a program. Where it shares its variables, later ones may declare them again. */
  evaluate(code: string, sharesVariables: boolean): void;
  settle(id: number, value: string): void;
  fail(id: number, failure: string): void;
  fire(timer: number): void;
  /** Runs what has become possible, then says how the program stands. */
  advance(): Standing;
  files(): string;
}

export type Standing =
  | { readonly is: "pending" }
  | { readonly is: "fulfilled"; readonly result: string | undefined }
  | { readonly is: "failed"; readonly error: ProgramError };

const importFile = async <T>(file: string): Promise<T> => (await import(pathToFileURL(file).href)) as T;

interface Runtime {
  readonly runtime: QuickJSRuntime;
  /** Full, if it could not grow when it was last asked to. */
  readonly memory: { isFull: boolean };
}

const loadRuntime = async ({ memoryBytes, quickJs }: GuestSettings): Promise<Runtime> => {
  if (quickJs === undefined) throw new Error("the files of the interpreter are not named");
  const { newQuickJSWASMModuleFromVariant, newVariant } = await importFile<
    typeof import("quickjs-emscripten-core")
  >(quickJs.core);
  const { default: variant } = await importFile<{ readonly default: QuickJSSyncVariant }>(quickJs.variant);
  // The interpreter's own memory limit does not hold; that of its memory does.
  const wasmMemory = new WebAssembly.Memory({
    initial: INITIAL_PAGES,
    maximum: Math.max(INITIAL_PAGES, Math.floor(memoryBytes / PAGE_BYTES)),
  });
  const grow = wasmMemory.grow.bind(wasmMemory);
  const memory = { isFull: false };
  wasmMemory.grow = (pages) => {
    memory.isFull = true;
    const before = grow(pages);
    memory.isFull = false;
    return before;
  };
  const module = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmMemory: wasmMemory as never }),
  );
  const runtime = module.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  return { runtime, memory };
};

const bridgeHandle = (context: QuickJSContext, bridge: Bridge): QuickJSHandle => {
  const handle = context.newObject();
  const add = (name: string, work: (...args: QuickJSHandle[]) => unknown): void =>
    context
      .newFunction(name, (...args) => (work(...args) === false ? context.false : context.true))
      .consume((made) => context.setProp(handle, name, made));
  const [number, text] = [context.getNumber, context.getString].map((read) => read.bind(context)) as [
    (from: QuickJSHandle | undefined) => number,
    (from: QuickJSHandle | undefined) => string,
  ];
  add("call", (id, name, args) => bridge.call(number(id), text(name), text(args)));
  add("output", (shown) => bridge.output(text(shown)));
  add("startTimer", (id, ms) => bridge.startTimer(number(id), number(ms)));
  add("stopTimer", (id) => bridge.stopTimer(number(id)));
  return handle;
};

/** The interpreter with its surroundings, ready for a program. */
export const createVm = async (settings: GuestSettings, bridge: Bridge): Promise<Vm> => {
  const { runtime, memory } = await loadRuntime(settings);
  const context = runtime.newContext();
  let main: QuickJSHandle | undefined;
  let failed: ProgramError | undefined;
  let written = "";

  context.unwrapResult(context.evalCode(WEB_PRELUDE, "prelude")).dispose();
  const install = context.unwrapResult(context.evalCode(PRELUDE, "prelude"));
  const surroundings = context.unwrapResult(
    context.callFunction(install, context.undefined, bridgeHandle(context, bridge)),
  );
  /** Calls a function of the prelude; what it throws is the program's doing (memory, `toJSON`) and ends the run. */
  const ask = (name: string, ...args: readonly QuickJSHandle[]): string | undefined => {
    const answer = context
      .getProp(surroundings, name)
      .consume((work) => context.callFunction(work, context.undefined, ...args));
    for (const arg of args) if (arg.alive) arg.dispose();
    if (answer.error !== undefined) {
      failed ??= describe(answer.error);
      return undefined;
    }
    return answer.value.consume((value) =>
      context.typeof(value) === "string" ? context.getString(value) : undefined,
    );
  };
  const describe = (thrown: QuickJSHandle): ProgramError => {
    // What is thrown where there is no memory for an error.
    if (memory.isFull && context.sameValue(thrown, context.null)) return OUT_OF_MEMORY;
    const answer = context
      .getProp(surroundings, "describe")
      .consume((work) => context.callFunction(work, context.undefined, thrown));
    thrown.dispose();
    if (answer.error !== undefined) {
      answer.error.dispose();
      return memory.isFull ? OUT_OF_MEMORY : UNSHOWN;
    }
    const described = answer.value.consume((text) => context.getString(text));
    return toProgramError(JSON.parse(described) as Described, written);
  };
  /** A promise of the program's result, once that is settled, too. */
  const settled = (program: QuickJSHandle): QuickJSHandle =>
    program.consume(() =>
      context
        .getProp(surroundings, "settled")
        .consume((work) => context.unwrapResult(context.callFunction(work, context.undefined, program))),
    );
  const number = (value: number): QuickJSHandle => context.newNumber(value);
  const text = (value: string): QuickJSHandle => context.newString(value);

  const standing = (): Standing => {
    if (failed !== undefined) return { is: "failed", error: failed };
    if (main === undefined) return { is: "pending" };
    const state = context.getPromiseState(main);
    if (state.type === "pending") return { is: "pending" };
    if (state.type === "rejected") return { is: "failed", error: describe(state.error) };
    const result = ask("result", state.value);
    return failed === undefined ? { is: "fulfilled", result } : { is: "failed", error: failed };
  };

  return {
    neverSettles: () => (memory.isFull ? OUT_OF_MEMORY : NEVER_SETTLES),
    begin: (inputs) => {
      memory.isFull = false;
      failed = undefined;
      main?.dispose();
      main = undefined;
      ask("begin", text(inputs));
    },
    evaluate: (code, sharesVariables) => {
      written = code;
      const shared = sharesVariables ? declareAsVar(code) : code;
      let started = context.evalCode(shared, PROGRAM, ASYNC_SCRIPT);
      // What is not valid has not begun to run.
      if (started.error !== undefined && shared !== code) {
        started.error.dispose();
        started = context.evalCode(code, PROGRAM, ASYNC_SCRIPT);
      }
      if (started.error === undefined) main = settled(started.value);
      else failed ??= describe(started.error);
    },
    settle: (id, value) => void ask("settle", number(id), text(value)),
    fail: (id, failure) => void ask("fail", number(id), text(failure)),
    fire: (timer) => void ask("fire", number(timer)),
    advance: () => {
      const { error } = runtime.executePendingJobs();
      if (error !== undefined) failed ??= describe(error);
      return standing();
    },
    files: () => ask("files") ?? "[]",
  };
};
