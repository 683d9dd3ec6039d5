import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { LANGUAGE_TABLE } from "../src/syntax/language-table.ts";

/**
 * Puts the parts of large packages that the program uses into `assets` of a package that is about to be packed, with their
 * licences: every grammar compressed, the tokenizer's table, the native vector search of three platforms, Cedar for Node, QuickJS, the reader of documents. Run by `prepack`;
 * `postpack` removes them again (`--remove`), so that a checkout reads what is installed. Git ignores them.
 */
const ROOT = resolve(import.meta.dirname, "..");
const FOLDERS = ["grammars", "tokenizer", "usearch", "cedar", "quickjs", "documents"] as const;

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

/** Three packages in one folder: what they import from each other by name lies beside them there. */
const packQuickJs = (target: string): void => {
  const core = join(packageFolder("quickjs-emscripten-core"), "dist");
  const variant = packageFolder("@jitl/quickjs-wasmfile-release-sync");
  const types = join(packageFolder("@jitl/quickjs-ffi-types"), "dist/index.mjs");
  mkdirSync(target, { recursive: true });
  const copyModule = (from: string, name: string): void => {
    const text = readFileSync(from, "utf8")
      .replaceAll("@jitl/quickjs-ffi-types", "./ffi-types.mjs")
      .replaceAll("@jitl/quickjs-wasmfile-release-sync/emscripten-module", "./emscripten-module.mjs")
      .replace(/\n\/\/# sourceMappingURL=.*/, "");
    writeFileSync(join(target, name), text);
  };
  for (const name of readdirSync(core)) if (name.endsWith(".mjs")) copyModule(join(core, name), name);
  copyModule(types, "ffi-types.mjs");
  copyModule(join(variant, "dist/index.mjs"), "variant.mjs");
  for (const name of ["ffi.mjs", "emscripten-module.mjs"]) copyModule(join(variant, "dist", name), name);
  copy(join(variant, "dist/emscripten-module.wasm"), join(target, "emscripten-module.wasm"));
  copy(join(variant, "LICENSE"), join(target, "LICENSE"));
};

/** What the reader of documents imports, with what these import in turn. */
const READER_PACKAGES = [
  "dom-serializer",
  "domelementtype",
  "domhandler",
  "domutils",
  "entities",
  "github-slugger",
  "htmlparser2",
  "linkify-it",
  "markdown-it",
  "mdurl",
  "punycode.js",
  "smol-toml",
  "uc.micro",
  "unpdf",
  "yaml",
] as const;

/** The reader of documents and its packages in one file, pdf.js in another: fifteen packages fewer to install. */
const packReader = async (target: string): Promise<void> => {
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({ input: join(ROOT, "src/documents/reader/main.ts"), platform: "node" });
  const { output } = await bundle.write({
    dir: target,
    format: "esm",
    minify: true,
    entryFileNames: "reader.mjs",
    chunkFileNames: "[name].mjs",
  });
  await bundle.close();
  const licences = READER_PACKAGES.map((name) => {
    const folder = packageFolder(name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence file.`);
    return `${name}\n\n${readFileSync(join(folder, file), "utf8")}`;
  });
  // unpdf carries pdf.js without the text of its licence.
  const apache = readFileSync(join(packageFolder("@opentelemetry/api"), "LICENSE"), "utf8");
  licences.push(`pdf.js (in unpdf), Copyright Mozilla Foundation\n\n${apache}`);
  writeFileSync(join(target, "LICENSE"), licences.join(`\n${"-".repeat(80)}\n`));
  const imported = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  const named = imported.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
  const missing = [...new Set(named)].filter((name) => !READER_PACKAGES.some((one) => one === name));
  if (missing.length > 0) throw new Error(`The licences of ${missing.join(", ")} are missing.`);
};

export const packAssets = async (assets: string, quality = QUALITY): Promise<void> => {
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
  packQuickJs(join(assets, "quickjs"));
  await packReader(join(assets, "documents"));
};

if (import.meta.main) {
  const assets = join(ROOT, "assets");
  for (const folder of FOLDERS) rmSync(join(assets, folder), { recursive: true, force: true });
  if (!process.argv.includes("--remove")) await packAssets(assets);
}
