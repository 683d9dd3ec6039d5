/** A definition or a heading. Rows are counted from 0, inclusive. */
export interface OutlineEntry {
  readonly name: string;
  /** With the names of the entries around it. */
  readonly qualified: string;
  /** The number of entries around it. */
  readonly depth: number;
  readonly nameRow: number;
  readonly startRow: number;
  readonly endRow: number;
}

export interface Naming {
  readonly name: string;
  readonly defines: readonly string[];
}

/** A table of constants has hundreds of names; more than this do not describe a chunk better. */
const MAX_DEFINES = 64;

/** Names chunks by their rows; to be called in the order of the file. */
export type Namer = (from: number, to: number) => Naming;

/** It sorts the whole outline: one for each file. */
export const createNamer = (outline: readonly OutlineEntry[]): Namer => {
  const entries = [...outline].sort((a, b) => a.nameRow - b.nameRow || a.depth - b.depth);
  let next = 0;
  /** Entries that started above and may not have ended. */
  let open: OutlineEntry[] = [];
  return (from, to) => {
    const inside: OutlineEntry[] = [];
    open = open.filter((entry) => entry.endRow >= from);
    for (let entry = entries[next]; entry !== undefined && entry.nameRow <= to; entry = entries[++next])
      if (entry.nameRow >= from) inside.push(entry);
      else if (entry.endRow >= from) open.push(entry);
    const rowsOf = (entry: OutlineEntry): number =>
      Math.min(entry.endRow, to) - Math.max(entry.startRow, from);
    const ordered = [...inside].sort((a, b) => a.depth - b.depth || a.nameRow - b.nameRow);
    const around = open.reduce<OutlineEntry | undefined>(
      (deepest, entry) => (deepest === undefined || entry.depth >= deepest.depth ? entry : deepest),
      undefined,
    );
    const outermost = ordered.filter((entry) => entry.depth === ordered[0]?.depth);
    const largest = outermost.reduce<OutlineEntry | undefined>(
      (longest, entry) => (longest === undefined || rowsOf(entry) > rowsOf(longest) ? entry : longest),
      undefined,
    );
    // A function that started above and fills more of the chunk than the entries that start in it.
    const continued =
      around !== undefined &&
      (largest === undefined ||
        (rowsOf(around) > 2 * rowsOf(largest) &&
          largest.depth >= around.depth &&
          largest.startRow > around.endRow));
    open.push(...inside.filter((entry) => entry.endRow > to));
    const main = continued ? around : largest;
    return {
      name: main?.qualified ?? "",
      defines: [...new Set(ordered.map((entry) => entry.name))].slice(0, MAX_DEFINES),
    };
  };
};
