import type { FileSymbols } from "../contract.ts";

export const NO_SYMBOLS: FileSymbols = { definitions: [], references: [], imports: [], module: "" };
