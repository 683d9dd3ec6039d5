import type { ReadLimits } from "../text/limits.ts";
import type { SectionList } from "../text/section-list.ts";

/** What a parser finds out beside the sections, which it adds to the list. */
export interface DocumentFacts {
  readonly title?: string | undefined;
  readonly licence?: string | undefined;
  readonly version?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
}

/** Of a format that is text. */
export type FormatParser = (input: { readonly text: string; readonly list: SectionList }) => DocumentFacts;

/** Of a format that is not. */
export type BinaryParser = (input: {
  readonly bytes: Uint8Array;
  readonly list: SectionList;
  readonly limits: ReadLimits;
}) => DocumentFacts | Promise<DocumentFacts>;
