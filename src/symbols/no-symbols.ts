import type { FileSymbols } from "../retrieve/contract.ts";

export const NO_SYMBOLS: FileSymbols = { definitions: [], references: [], imports: [], module: "" };
