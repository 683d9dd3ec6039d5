import { LlmcError } from "../base/error.ts";
import type { ContentBlock } from "../tools/contract.ts";

/** Of everything that one result is made of, together; no setting raises it, and the link carries more. */
export const MAX_RESULT_BYTES = 104_857_600;

/** Cuts a text to a number of bytes, at the last whole line that fits, and says so. */
const boundText = (
  text: string,
  maxBytes: number,
): { readonly text: string; readonly truncated: boolean } => {
  // A UTF-16 unit is at most three bytes of UTF-8: most texts need no counting at all.
  if (text.length * 3 <= maxBytes) return { text, truncated: false };
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { text, truncated: false };
  const cut = Buffer.from(text)
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  const lastLine = cut.lastIndexOf("\n");
  const kept = lastLine > maxBytes / 2 ? cut.slice(0, lastLine) : cut;
  return {
    text: `${kept}\n[cut: ${Buffer.byteLength(kept)} of ${bytes} bytes; ask for a smaller part]`,
    truncated: true,
  };
};

/** At most what a value is in JSON: six bytes for a character that is escaped, a few for a number, a name, a bracket. */
const ESCAPED_BYTES = 6;
const OTHER_BYTES = 32;

/** What may be sent of a text so that it is no larger than that in JSON, either. */
const textLimit = (text: string, maxBytes: number): number => {
  if (text.length * ESCAPED_BYTES <= maxBytes) return maxBytes;
  return Buffer.byteLength(JSON.stringify(text)) <= maxBytes
    ? maxBytes
    : Math.floor(maxBytes / ESCAPED_BYTES);
};

/** What a block other than text carries, in characters that are one byte each, but for the text of a resource. */
const bytesOf = (block: Exclude<ContentBlock, { type: "text" }>): number => {
  if (block.type === "resource_link") return block.uri.length + block.name.length;
  if (block.type !== "resource") return block.data.length;
  return "blob" in block.resource ? block.resource.blob.length : Buffer.byteLength(block.resource.text);
};

/**
 * The content within its bounds: `maxTextBytes` for all its texts together, which are cut, and the bound of a result for the
 * rest, of which a block that does not fit is left out. Either is said in its place.
 */
export const boundContent = (
  rendered: string | readonly ContentBlock[],
  maxTextBytes: number,
  maxBytes = MAX_RESULT_BYTES,
): { readonly content: readonly ContentBlock[]; readonly truncated: boolean } => {
  const blocks: readonly ContentBlock[] =
    typeof rendered === "string" ? [{ type: "text", text: rendered }] : rendered;
  let truncated = false;
  let textLeft = maxTextBytes;
  let left = maxBytes;
  const content = blocks.map((block): ContentBlock => {
    if (block.type === "text") {
      const bounded = boundText(block.text, Math.min(textLeft, textLimit(block.text, left)));
      truncated ||= bounded.truncated;
      // A single text, which most results are, need not be counted for those that follow.
      if (blocks.length > 1) {
        const bytes = Buffer.byteLength(bounded.text);
        textLeft = Math.max(0, textLeft - bytes);
        left = Math.max(0, left - bytes);
      }
      return bounded.truncated ? { type: "text", text: bounded.text } : block;
    }
    const bytes = bytesOf(block);
    if (bytes <= left) {
      left -= bytes;
      return block;
    }
    truncated = true;
    return { type: "text", text: `[left out: ${block.type} of ${bytes} bytes, more than a result may have]` };
  });
  return { content, truncated };
};

/** An upper bound of the value's size; stops counting beyond the limit. */
const estimate = (value: unknown, limit: number): number => {
  if (typeof value === "string") return value.length * ESCAPED_BYTES + 2;
  if (typeof value !== "object" || value === null) return OTHER_BYTES;
  let sum = 2;
  for (const [key, one] of Object.entries(value)) {
    sum += key.length * ESCAPED_BYTES + 4 + estimate(one, limit - sum);
    if (sum > limit) break;
  }
  return sum;
};

/** The process that passes results on has a small heap, in which a value takes some twenty times its text. */
const MAX_RESULT_VALUES = 300_000;

/** Values of all kinds; stops counting beyond the limit. */
const countValues = (value: unknown, limit: number): number => {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const one of Object.values(value)) {
    count += countValues(one, limit - count);
    if (count > limit) break;
  }
  return count;
};

/**
 * Structured content cannot be cut: what is beyond the bound is refused. Returns its bytes, exactly only where they may matter
 * to what else is in the result.
 */
export const checkStructured = (value: unknown, maxBytes = MAX_RESULT_BYTES): number => {
  if (countValues(value, MAX_RESULT_VALUES) > MAX_RESULT_VALUES)
    throw new LlmcError("file_too_large", `The result has more than ${MAX_RESULT_VALUES} values.`, {
      hint: "Ask for a smaller part.",
    });
  const upperBound = estimate(value, maxBytes);
  if (upperBound <= maxBytes / 16) return upperBound;
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "");
  if (bytes > maxBytes)
    throw new LlmcError(
      "file_too_large",
      `The result has ${bytes} bytes, and at most ${maxBytes} are sent.`,
      {
        hint: "Ask for a smaller part.",
      },
    );
  return bytes;
};
