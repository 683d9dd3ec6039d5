import { hash } from "node:crypto";
import { textOfChunk } from "./file-entry.ts";
import type { LoadedFile, LoadedIndex } from "./loaded-index.ts";

const spansOf = (loaded: LoadedIndex, { chunkIds }: LoadedFile) =>
  chunkIds.map((id) => {
    const { startLine = 0, endLine = 0 } = loaded.chunks.get(id) ?? {};
    return { startLine, endLine, part: loaded.partOf(id) };
  });

/** Identifies the content of a file and the way it is cut into chunks. */
export const layoutOf = (loaded: LoadedIndex, file: LoadedFile): string =>
  hash(
    "sha256",
    JSON.stringify([
      file.hash,
      spansOf(loaded, file).map(({ startLine, endLine, part }) => [startLine, endLine, part ?? null]),
    ]),
    "base64url",
  );

/** The texts of a file's chunks, taken from its text without parsing it again. */
export const textsOf = (loaded: LoadedIndex, file: LoadedFile, text: string): readonly string[] => {
  const lines = text.split("\n");
  return spansOf(loaded, file).map((span) => textOfChunk(lines, span) ?? "");
};
