import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LlmcError } from "../../base/error.ts";

/**
 * The embedding table's files, checked. Weights and scales are in memory that threads can share: send this object to
 * them.
 */
export interface EmbedderFiles {
  readonly weights: Int8Array;
  readonly scales: Float32Array;
  readonly vocabulary: string;
  readonly fingerprint: string;
}

const FOLDER = fileURLToPath(new URL("../../../assets/embedder/", import.meta.url));

const FINGERPRINT_CHARS = 12;

const damaged = (file: string, cause?: unknown): LlmcError =>
  new LlmcError("unavailable", `The embedding table is damaged: ${file} is missing or has been modified.`, {
    hint: "Install llmc again: its folder assets/embedder has changed.",
    retryable: false,
    cause,
  });

const readShared = (path: string): Uint8Array<SharedArrayBuffer> => {
  const file = openSync(path, "r");
  try {
    const bytes = new Uint8Array(new SharedArrayBuffer(fstatSync(file).size));
    let done = 0;
    while (done < bytes.length) {
      const read = readSync(file, bytes, done, bytes.length - done, done);
      if (read === 0) break;
      done += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
};

/** Reads and checks the table: 10 MB, some 30 ms. Once per process; threads get it from the one that read it. */
export const readEmbedderFiles = (folder: string = FOLDER): EmbedderFiles => {
  const read = (name: string): Uint8Array<SharedArrayBuffer> => {
    try {
      return readShared(`${folder}/${name}`);
    } catch (error) {
      throw damaged(name, error);
    }
  };
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes.slice());
  const sums = text(read("SHA256SUMS"));
  const expected = new Map(
    sums
      .trim()
      .split("\n")
      .map((line) => {
        const [sum = "", name = ""] = line.split(/\s+\*?/);
        return [name, sum] as const;
      }),
  );
  const checked = (name: string): Uint8Array<SharedArrayBuffer> => {
    const bytes = read(name);
    if (createHash("sha256").update(bytes).digest("hex") !== expected.get(name)) throw damaged(name);
    return bytes;
  };
  const weights = checked("weights.i8");
  const scales = checked("scales.f32");
  return {
    weights: new Int8Array(weights.buffer),
    scales: new Float32Array(scales.buffer),
    vocabulary: text(checked("vocab.txt")),
    fingerprint: createHash("sha256").update(sums).digest("hex").slice(0, FINGERPRINT_CHARS),
  };
};
