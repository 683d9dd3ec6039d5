import { readFile } from "node:fs/promises";
import { type CountTokens, createTokenCounter } from "../../base/tokens.ts";
import { bundledFile } from "./bundled-files.ts";

const load = async (): Promise<CountTokens> =>
  createTokenCounter(
    await readFile(bundledFile("tokenizer/o200k_base.tiktoken", "gpt-tokenizer/data/o200k_base.tiktoken")),
  );

let loaded: Promise<CountTokens> | undefined;

/** Reads the o200k_base tokenizer on first use: some 50 ms and 5 MB per thread, so nothing on the start path asks for it. */
export const tokenCounter = (): Promise<CountTokens> => {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
};
