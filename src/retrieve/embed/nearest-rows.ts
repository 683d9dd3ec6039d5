import { loadVectorSearch } from "../../host/os/bundled-files.ts";

/** Finds the rows of the largest cosines by machine instructions that JavaScript has no words for. */
export type NearestRows = (
  rows: Int8Array,
  query: Int8Array,
  dimensions: number,
  count: number,
) => ArrayLike<bigint>;

/** The package reads from the start of the memory behind an array, whatever part of it the array is. */
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
    // One thread: it takes half a millisecond for 20,000 rows, less than starting a second one.
    loaded = (rows, query, dimensions, count) => exactSearch(rows, query, dimensions, count, "cos", 1)[0];
  } catch {
    loaded = undefined;
  }
  return loaded;
};
