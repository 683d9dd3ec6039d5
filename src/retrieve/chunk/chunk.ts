import type { ContentKind } from "../../syntax/language-table.ts";

export type ChunkKind = ContentKind;

/** A whole, useful unit of a file: what a search result shows. */
export interface Chunk {
  /** Counted from 1, inclusive. */
  readonly startLine: number;
  readonly endLine: number;
  readonly kind: ChunkKind;
  /** Qualified name of the outermost definition (`Store.open`), or the path of headings; empty where there is none. */
  readonly name: string;
  /** Plain names that are defined in it, outermost first. */
  readonly defines: readonly string[];
  /**
   * The lines as they stand in the file, without the last line end; a part of one line where that is too long for a chunk;
   * empty where only the name of the file leads to it.
   */
  readonly text: string;
}
