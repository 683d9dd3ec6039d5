import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/*
 * Parts of large packages that a published package carries in `assets`, put there by scripts/pack-assets.ts. A checkout
 * takes them from the packages themselves, which are its development dependencies.
 */

const shipped = (name: string): string => fileURLToPath(new URL(`../../../assets/${name}`, import.meta.url));

const resolve = (specifier: string): string => fileURLToPath(import.meta.resolve(specifier));

/** Whether a package is installed where this program would find it. */
export const isInstalled = (name: string): boolean => {
  try {
    return existsSync(resolve(name));
  } catch {
    return false;
  }
};

/** The file to read: the shipped one, else that of the installed package. */
export const bundledFile = (name: string, specifier: string): string => {
  const path = shipped(name);
  return existsSync(path) ? path : resolve(specifier);
};

/** A program of ours that is shipped in one file with the packages that it imports; undefined in a checkout. */
export const bundledProgram = (name: string): string | undefined => {
  const path = shipped(name);
  return existsSync(path) ? path : undefined;
};

/** A WebAssembly file of an installed package, by the name that `import` would take. */
export const readWasmFile = (specifier: string): Promise<Uint8Array<ArrayBuffer>> =>
  readFile(resolve(specifier));

/**
 * The WebAssembly of a grammar. Brotli makes 6 MB of the 98 MB of all grammars, which is why every one of them can be
 * shipped; to decompress one takes 1 to 30 ms, in the thread that first needs it.
 */
export const readGrammar = async (grammar: string): Promise<Uint8Array<ArrayBuffer>> => {
  const compressed = shipped(`grammars/${grammar}.wasm.br`);
  if (!existsSync(compressed)) return readWasmFile(`tree-sitter-wasm/${grammar}/tree-sitter-${grammar}.wasm`);
  const { brotliDecompress } = await import("node:zlib");
  return new Uint8Array(await promisify(brotliDecompress)(await readFile(compressed)));
};

interface VectorSearch {
  exactSearch(
    rows: Int8Array,
    query: Int8Array,
    dimensions: number,
    count: number,
    metric: "cos",
    threads: number,
  ): readonly [keys: BigUint64Array, distances: Float32Array];
}

/** The folder of usearch's program for this machine, as the package names it; it has none for others. */
const PREBUILT = process.platform === "darwin" ? "darwin-arm64+x64" : `${process.platform}-${process.arch}`;

/** The native part of usearch. Throws on machines for which there is none. */
export const loadVectorSearch = (): VectorSearch => {
  const own = shipped(`usearch/${PREBUILT}/usearch.node`);
  const path = existsSync(own)
    ? own
    : join(dirname(resolve("usearch")), "../../../prebuilds", PREBUILT, "usearch.node");
  return createRequire(import.meta.url)(path) as VectorSearch;
};

/**
 * A new instance of Cedar's WebAssembly, with its bindings: some 40 ms for the first, 5 ms for another one. The bindings have
 * theirs in a variable of the module, which is therefore loaded anew. The package has three builds; the one for Node is
 * shipped.
 */
export const loadCedar = (): unknown => {
  const require = createRequire(import.meta.url);
  const path = require.resolve(bundledFile("cedar/cedar_wasm.js", "@cedar-policy/cedar-wasm/nodejs"));
  delete require.cache[path];
  return require(path) as unknown;
};
