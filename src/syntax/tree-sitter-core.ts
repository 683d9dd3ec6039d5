import { Parser, type Tree } from "web-tree-sitter";
import { readWasmFile } from "../host/os/bundled-files.ts";

// The part of WebAssembly's types that is used: TypeScript has them among those of a browser's page only.
interface Memory {
  readonly buffer: ArrayBuffer;
}
type Imports = Readonly<Record<string, Record<string, unknown>>>;
interface Instantiated {
  readonly instance: object;
  readonly module: object;
}
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory;
    instantiate(binary: Uint8Array, imports: Imports): Promise<Instantiated>;
  };
};

// What the binding takes at once, of two bytes each, without the zero at its end.
const MAX_UNITS = 5_119;

const PAGE_BYTES = 65_536;
const INITIAL_BYTES = 32 * 1024 * 1024;
const MAXIMUM_BYTES = 2 * 1024 * 1024 * 1024;

const memory = new WebAssembly.Memory({
  initial: INITIAL_BYTES / PAGE_BYTES,
  maximum: MAXIMUM_BYTES / PAGE_BYTES,
});

// Used again by the next text: memory of its own for each would wait for the collector, outside of what it counts.
let room = new Uint16Array(1 << 16);
let roomBytes = Buffer.from(room.buffer);
let input = room.subarray(0, 0);

/** What the next parse reads, whatever text it is given for later questions. */
export const setInput = (text: string): void => {
  if (text.length > room.length) {
    room = new Uint16Array(text.length * 2);
    roomBytes = Buffer.from(room.buffer);
  }
  roomBytes.write(text, "utf16le");
  input = room.subarray(0, text.length);
};

/**
 * The binding's own copies five thousand characters one by one, as often as the parser asks, and a grammar that tries
 * several readings asks for the same ones hundreds of times: most of the time for Scala went there.
 */
const giveInput = (
  buffer: number,
  index: number,
  _row: number,
  _column: number,
  lengthAddress: number,
): void => {
  const units = input.subarray(index, index + MAX_UNITS);
  // Made anew each time: the memory's buffer is another one after it has grown.
  new Int32Array(memory.buffer, lengthAddress, 1)[0] = units.length;
  new Uint16Array(memory.buffer, buffer, units.length).set(units);
};

const start = async (): Promise<void> => {
  const binary = await readWasmFile("web-tree-sitter/web-tree-sitter.wasm");
  await new Promise<void>((resolve, reject) => {
    const instantiateWasm = (imports: Imports, receive: (instance: object, module: object) => void): void => {
      const { env = {} } = imports;
      env["tree_sitter_parse_callback"] = giveInput;
      WebAssembly.instantiate(binary, imports).then(
        ({ instance, module }) => receive(instance, module),
        reject,
      );
    };
    Parser.init({ wasmMemory: memory, instantiateWasm }).then(resolve, reject);
  });
};

let started: Promise<void> | undefined;

/** tree-sitter for this thread, with a memory that can be read from outside. */
export const startTreeSitter = (): Promise<void> => {
  started ??= start();
  return started;
};

/** Where trees lie. Views of it are valid until the next parse: the memory grows. */
export const treeMemory = (): ArrayBuffer => memory.buffer;

/** Where a tree begins in it. */
export const addressOf = (tree: Tree): number => (tree as unknown as { readonly 0: number })[0];
