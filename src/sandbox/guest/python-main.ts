/**
 * Run as a process of its own, confined by the system: Python in WebAssembly. The interpreter is no wall, since a program
 * can reach JavaScript through it; the wall is around this process.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import type { PyodideAPI } from "pyodide";
import type { GuestSettings, ToGuest } from "./messages.ts";
import { PYODIDE_PRELUDE, PYODIDE_SURROUND, PYTHON_PRELOAD } from "./python-prelude.ts";
import {
  createFileSender,
  createOutput,
  listen,
  post,
  postCall,
  settingsOf,
  type WorkspaceFile,
  whenIdle,
  writeAll,
} from "./speak.ts";

type Run = Extract<ToGuest, { type: "run" }>;

/** What the prelude gives. */
type Surroundings = readonly [
  run: (code: string, inputs: string) => Promise<string>,
  settle: (call: number, text: string) => void,
  fail: (call: number, text: string) => void,
];

/** Of Emscripten's file system in memory. */
interface MemoryFiles {
  readdir(path: string): readonly string[];
  lstat(path: string): { readonly mode: number; readonly size: number; readonly mtime: Date };
  isFile(mode: number): boolean;
  isDir(mode: number): boolean;
  readFile(path: string): Uint8Array;
}

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

const CHECKSUM_BYTES = 4;

const checksumOf = (snapshot: Uint8Array): Uint8Array => {
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(snapshot));
  return checksum;
};

/** Throws for one that is not as it was written: an interpreter that began with it could do anything. */
const readSnapshot = (file: string): Uint8Array => {
  const bytes = readFileSync(file);
  const snapshot = bytes.subarray(0, -CHECKSUM_BYTES);
  if (!bytes.subarray(-CHECKSUM_BYTES).equals(checksumOf(snapshot))) throw new Error("a damaged snapshot");
  return snapshot;
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
    ...(snapshotFile === undefined ? {} : { _loadSnapshot: readSnapshot(snapshotFile) }),
    ...options,
  });
};

/** What programs wrote, read without Python, which a program may have changed. Links are not followed. */
const filesIn = (memory: MemoryFiles): readonly WorkspaceFile[] => {
  const found: WorkspaceFile[] = [];
  const folders = [WORK_FOLDER];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const name of memory.readdir(folder).toSorted()) {
      if (name === "." || name === "..") continue;
      const path = `${folder}/${name}`;
      const { mode, size, mtime } = memory.lstat(path);
      if (memory.isDir(mode)) folders.push(path);
      else if (memory.isFile(mode))
        found.push({
          name: path.slice(WORK_FOLDER.length + 1),
          size,
          version: `${size}:${mtime.getTime()}`,
          read: () => memory.readFile(path),
        });
    }
  return found;
};

/** Writes the memory of a started interpreter to stdout: loading it later takes a sixth of the time. */
const makeSnapshot = async (settings: GuestSettings): Promise<void> => {
  const pyodide = await load(settings, { _makeSnapshot: true });
  pyodide.runPython(PYTHON_PRELOAD);
  pyodide.runPython(PYODIDE_PRELUDE);
  const snapshot = (pyodide as unknown as { makeMemorySnapshot(): Uint8Array }).makeMemorySnapshot();
  writeAll(snapshot);
  writeAll(checksumOf(snapshot));
};

const serve = async (settings: GuestSettings): Promise<void> => {
  const output = createOutput();
  const sendFiles = createFileSender();
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
  if (settings.snapshotFile === undefined) pyodide.runPython(PYODIDE_PRELUDE);
  const surround = pyodide.globals["get"](PYODIDE_SURROUND) as (...args: readonly unknown[]) => Surroundings;
  let maxCallBytes = 0;
  const sendCall = (call: number, name: string, args: string): void => {
    const failure = postCall(call, name, args, maxCallBytes);
    if (failure !== undefined) setImmediate(() => fail(call, JSON.stringify(failure)));
  };
  const [run, settle, fail] = surround(sendCall, WORK_FOLDER);
  const memory = pyodide.FS as unknown as MemoryFiles;
  // The routes to this process's JavaScript that need no trick.
  for (const name of ["js", "pyodide_js"]) pyodide.unregisterJsModule(name);
  boundMemory(settings.memoryBytes);

  let hasRun = false;
  let warmedUp: Promise<unknown> = Promise.resolve();
  const start = async ({ code, inputs, ...limits }: Run): Promise<void> => {
    hasRun = true;
    await warmedUp;
    output.begin(limits.maxOutputBytes);
    ({ maxCallBytes } = limits);
    const { result, error } = JSON.parse(await run(code, inputs)) as { result?: string; error?: never };
    const isTooLarge = result !== undefined && Buffer.byteLength(result) > limits.maxResultBytes;
    const tooLarge = {
      name: "ValueError",
      message: `The result is larger than ${limits.maxResultBytes} bytes: return less, or write it to a file.`,
    };
    post({
      type: "done",
      ...(isTooLarge ? { error: tooLarge } : { result, error }),
      outputCut: output.isCut(),
      ...sendFiles(filesIn(memory), limits.maxFileBytes),
    });
  };
  listen((message) => {
    if (message.type === "run") void start(message);
    else if ("value" in message) settle(message.call, message.value);
    else fail(message.call, JSON.stringify(message.failure));
  });
  post({ type: "ready" });
  whenIdle(
    () => !hasRun,
    () => {
      warmedUp = run("1", "{}").then(() => filesIn(memory));
    },
  );
};

allowBindingOfConstants();
const settings = settingsOf();
await (settings.makesSnapshot === true ? makeSnapshot(settings) : serve(settings));
