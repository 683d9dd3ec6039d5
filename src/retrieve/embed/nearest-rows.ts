import { loadVectorSearch } from "../../host/os/bundled-files.ts";

/** Finds the rows with the largest cosines, with SIMD instructions, which JavaScript does not have. */
export type NearestRows = (
  rows: Int8Array,
  query: Int8Array,
  dimensions: number,
  count: number,
) => ArrayLike<bigint>;

/** The package ignores the offset of an array within its buffer. */
const fromStart = (array: Int8Array): Int8Array =>
  array.byteOffset === 0 && array.buffer instanceof ArrayBuffer ? array : new Int8Array(array);

export const nearestRows = (
  native: NearestRows,
  rows: Int8Array,
  query: Int8Array,
  count: number,
): readonly number[] => Array.from(native(fromStart(rows), fromStart(query), query.length, count), Number);

let loaded: NearestRows | undefined | "not tried" = "not tried";

/** Undefined on machines for which there is no native program; then plain JavaScript answers, some twenty times slower. */
export const loadNearestRows = (): NearestRows | undefined => {
  if (loaded !== "not tried") return loaded;
  try {
    const { exactSearch } = loadVectorSearch();
    // One thread. With two, usearch keeps all distances and sorts them: a million rows then take 28 ms on two cores, and
    // 22 on one (`count` 300, 256 dimensions), and never less for fewer rows.
    loaded = (rows, query, dimensions, count) => exactSearch(rows, query, dimensions, count, "cos", 1)[0];
  } catch {
    loaded = undefined;
  }
  return loaded;
};
