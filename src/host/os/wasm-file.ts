import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** A WebAssembly file of an installed package, by the name that `import` would take. */
export const readWasmFile = (specifier: string): Promise<Uint8Array<ArrayBuffer>> =>
  readFile(fileURLToPath(import.meta.resolve(specifier)));
