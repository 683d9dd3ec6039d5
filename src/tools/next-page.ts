/** Where reading goes on after a slice of a text, if there is more of it. */
export interface NextPage {
  /** Lines to skip. */
  readonly next_offset?: number;
  /** Bytes to skip, where the slice ends within a line that is too long for a page. */
  readonly next_offset_bytes?: number;
}

export const nextPage = (slice: {
  readonly text: string;
  readonly truncated: boolean;
  readonly firstLine: number;
  readonly lines: number;
  readonly endByte: number;
}): NextPage => {
  if (!slice.truncated) return {};
  const isInsideLine = slice.text !== "" && !slice.text.endsWith("\n");
  return isInsideLine ? { next_offset_bytes: slice.endByte } : { next_offset: slice.firstLine + slice.lines };
};
