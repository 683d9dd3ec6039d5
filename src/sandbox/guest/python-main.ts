/**
 * Run as a process of its own, confined by the system: Python in WebAssembly. The interpreter is no wall, since a program
 * can reach JavaScript through it; the wall is around this process.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { PyodideAPI } from "pyodide";
import type { GuestSettings, ToGuest } from "./messages.ts";
import { PYTHON_PRELOAD, PYTHON_PRELUDE } from "./python-prelude.ts";
import { boundFiles, createOutput, type GuestFile, listen, post, settingsOf, writeAll } from "./speak.ts";

type Run = Extract<ToGuest, { type: "run" }>;

/** What the prelude gives. */
type Surroundings = readonly [
  run: (code: string, inputs: string) => Promise<string>,
  settle: (call: number, text: string) => void,
  fail: (call: number, text: string) => void,
  files: () => string,
];

const WORK_FOLDER = "/work";

const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Memory: { readonly prototype: { grow(pages: number): number; readonly buffer: ArrayBuffer } };
  };
};

/** Python asks for more memory through this alone: beyond the bound it gets a MemoryError. */
const boundMemory = (maxBytes: number): void => {
  const { prototype } = WebAssembly.Memory;
  const { grow } = prototype;
  Object.defineProperty(prototype, "grow", {
    value(this: { readonly buffer: ArrayBuffer }, pages: number): number {
      if (this.buffer.byteLength + pages * 65_536 > maxBytes) throw new RangeError("over the memory bound");
      return grow.call(this as never, pages);
    },
  });
};

/** The module asks Node for constants of files in a way that its permission model refuses. */
const allowBindingOfConstants = (): void => {
  Object.defineProperty(process, "binding", { value: () => ({ fs: {} }) });
};

interface Loader {
  loadPyodide(options: Readonly<Record<string, unknown>>): Promise<PyodideAPI>;
}

const load = async (
  { pyodideFolder = "", snapshotFile }: GuestSettings,
  options: Readonly<Record<string, unknown>>,
): Promise<PyodideAPI> => {
  const { loadPyodide } = (await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`).href)) as Loader;
  return loadPyodide({
    indexURL: pyodideFolder,
    ...(snapshotFile === undefined ? {} : { _loadSnapshot: readFileSync(snapshotFile) }),
    ...options,
  });
};

/** Writes the memory of a started interpreter to stdout: loading it later takes a sixth of the time. */
const makeSnapshot = async (settings: GuestSettings): Promise<void> => {
  const pyodide = await load(settings, { _makeSnapshot: true });
  pyodide.runPython(PYTHON_PRELOAD);
  const snapshot = (pyodide as unknown as { makeMemorySnapshot(): Uint8Array }).makeMemorySnapshot();
  writeAll(snapshot);
};

const serve = async (settings: GuestSettings): Promise<void> => {
  const output = createOutput();
  const decoder = new TextDecoder();
  const write = (bytes: Uint8Array): number => {
    output.write(decoder.decode(bytes, { stream: true }));
    return bytes.length;
  };
  // What Python's module js shows: nothing.
  const pyodide = await load(settings, { jsglobals: Object.create(null) });
  pyodide.setStdout({ write });
  pyodide.setStderr({ write });
  pyodide.setStdin({ stdin: () => null });
  const surround = pyodide.runPython(PYTHON_PRELUDE) as (...args: readonly unknown[]) => Surroundings;
  const sendCall = (call: number, name: string, args: string): void =>
    post({ type: "call", call, name, args });
  const [run, settle, fail, files] = surround(sendCall, WORK_FOLDER);
  // The routes to this process's JavaScript that need no trick.
  for (const name of ["js", "pyodide_js"]) pyodide.unregisterJsModule(name);
  boundMemory(settings.memoryBytes);

  const start = async ({ code, inputs, ...limits }: Run): Promise<void> => {
    output.begin(limits.maxOutputBytes);
    const { result, error } = JSON.parse(await run(code, inputs)) as { result?: string; error?: never };
    const left = JSON.parse(files()) as { files: readonly GuestFile[]; dropped: boolean };
    const isTooLarge = result !== undefined && Buffer.byteLength(result) > limits.maxResultBytes;
    const tooLarge = {
      name: "ValueError",
      message: `The result is larger than ${limits.maxResultBytes} bytes: return less, or write it to a file.`,
    };
    const bounded = boundFiles(left.files, limits.maxFileBytes);
    post({
      type: "done",
      ...(isTooLarge ? { error: tooLarge } : { result, error }),
      outputCut: output.isCut(),
      files: bounded.files,
      filesCut: bounded.filesCut || left.dropped,
    });
  };
  listen((message) => {
    if (message.type === "run") void start(message);
    else if ("value" in message) settle(message.call, message.value);
    else fail(message.call, JSON.stringify(message.failure));
  });
  post({ type: "ready" });
};

allowBindingOfConstants();
const settings = settingsOf();
await (settings.makesSnapshot === true ? makeSnapshot(settings) : serve(settings));
