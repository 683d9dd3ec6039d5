import { Parser, type Tree } from "web-tree-sitter";
import { readWasmFile } from "../host/os/bundled-files.ts";

// The types of WebAssembly that are used here: TypeScript has them only in its library for browsers.
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

// UTF-16 units that the binding takes at once, without the terminating zero.
const MAX_UNITS = 5_119;

const PAGE_BYTES = 65_536;
const INITIAL_BYTES = 32 * 1024 * 1024;
const MAXIMUM_BYTES = 2 * 1024 * 1024 * 1024;

const memory = new WebAssembly.Memory({
  initial: INITIAL_BYTES / PAGE_BYTES,
  maximum: MAXIMUM_BYTES / PAGE_BYTES,
});

// Reused for the next text: the garbage collector does not count such buffers, and would free them late.
let inputBuffer = new Uint16Array(1 << 16);
let inputBytes = Buffer.from(inputBuffer.buffer);
let input = inputBuffer.subarray(0, 0);

/** Sets the text that the next parse reads, whatever text is passed to the parser. */
export const setInput = (text: string): void => {
  if (text.length > inputBuffer.length) {
    inputBuffer = new Uint16Array(text.length * 2);
    inputBytes = Buffer.from(inputBuffer.buffer);
  }
  inputBytes.write(text, "utf16le");
  input = inputBuffer.subarray(0, text.length);
};

/**
 * The binding's own callback copies five thousand characters one by one, whenever the parser asks, and a grammar that
 * tries several readings asks for the same ones hundreds of times. With it, parsing Scala (cats, circe) takes 3.1 and
 * 2.7 s per MB instead of 0.9 and 0.7 s; other languages take the same time.
 */
const giveInput = (
  buffer: number,
  index: number,
  _row: number,
  _column: number,
  lengthAddress: number,
): void => {
  const units = input.subarray(index, index + MAX_UNITS);
  // A new view each time: the memory has another buffer once it has grown.
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

/** Starts tree-sitter for this thread, with a memory that `tree-reader.ts` can read. */
export const startTreeSitter = (): Promise<void> => {
  started ??= start();
  return started;
};

/** The memory that holds the trees. Views of it are valid until the next parse, which may grow it. */
export const treeMemory = (): ArrayBuffer => memory.buffer;

/** Address of a tree in that memory. */
export const addressOf = (tree: Tree): number => (tree as unknown as { readonly 0: number })[0];
