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
const PROSE_FOLDER = fileURLToPath(new URL("../../../assets/prose-embedder/", import.meta.url));

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

/** Reads the files of a folder, each compared with its checksum. */
const openChecked = (folder: string) => {
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
  const bytes = (name: string): Uint8Array<SharedArrayBuffer> => {
    const found = read(name);
    if (createHash("sha256").update(found).digest("hex") !== expected.get(name)) throw damaged(name);
    return found;
  };
  return {
    bytes,
    text: (name: string): string => text(bytes(name)),
    fingerprint: createHash("sha256").update(sums).digest("hex").slice(0, FINGERPRINT_CHARS),
  };
};

/** Reads and checks the table: 10 MB, some 30 ms. Once per process; threads get it from the one that read it. */
export const readEmbedderFiles = (folder: string = FOLDER): EmbedderFiles => {
  const { bytes, text, fingerprint } = openChecked(folder);
  return {
    weights: new Int8Array(bytes("weights.i8").buffer),
    scales: new Float32Array(bytes("scales.f32").buffer),
    vocabulary: text("vocab.txt"),
    fingerprint,
  };
};

/** Two numbers of four bits a byte, the first in the low half, each stored plus 8. */
const unpackHalves = (packed: Uint8Array): Int8Array => {
  const rows = new Int8Array(new SharedArrayBuffer(packed.length * 2));
  packed.forEach((pair, at) => {
    rows[2 * at] = (pair & 15) - 8;
    rows[2 * at + 1] = (pair >> 4) - 8;
  });
  return rows;
};

/** The second table, for prose, over the vocabulary of the first one. */
export const readProseEmbedderFiles = (base: EmbedderFiles): EmbedderFiles => {
  const { bytes, fingerprint } = openChecked(PROSE_FOLDER);
  return {
    weights: unpackHalves(bytes("prose.i4")),
    scales: new Float32Array(bytes("prose.f32").buffer),
    vocabulary: base.vocabulary,
    fingerprint,
  };
};
