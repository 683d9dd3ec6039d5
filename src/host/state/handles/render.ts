import { LlmcError } from "../../../base/error.ts";
import { firstBytes } from "../../../base/utf8.ts";

/** Turns stored lines into what is shown: one text, of any number of lines, for each, in order. */
export type Renderer = (lines: readonly string[], signal?: AbortSignal) => Promise<readonly string[]>;

export interface Rendered {
  readonly text: string;
  /** Stored lines that the text stands for. */
  readonly lines: number;
}

// Enough to share the cost of opening files, few enough not to render much that does not fit.
const AT_ONCE = 100;

/** Renders lines until the bytes are used up; the first one always, cut if it must be. */
export const renderLines = async (
  lines: readonly string[],
  maxBytes: number,
  render: Renderer,
  signal?: AbortSignal,
): Promise<Rendered> => {
  const texts: string[] = [];
  let bytes = 0;
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    const batch = lines.slice(at, at + AT_ONCE);
    const rendered = await render(batch, signal);
    if (rendered.length !== batch.length) {
      throw new LlmcError(
        "internal_error",
        "A renderer answered for another number of lines than it was given.",
      );
    }
    for (const text of rendered) {
      bytes += Buffer.byteLength(text) + 1;
      if (bytes > maxBytes && texts.length > 0) return { text: texts.join(""), lines: texts.length };
      texts.push(bytes > maxBytes ? firstBytes(text, maxBytes) : `${text}\n`);
    }
  }
  return { text: texts.join(""), lines: texts.length };
};
