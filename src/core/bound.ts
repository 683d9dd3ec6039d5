import type { ContentBlock } from "../tools/contract.ts";

/** Cuts the text of a result to a number of bytes, at the last whole line that fits, and says so. */
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

export const boundContent = (
  rendered: string | readonly ContentBlock[],
  maxBytes: number,
): { readonly content: readonly ContentBlock[]; readonly truncated: boolean } => {
  const blocks: readonly ContentBlock[] =
    typeof rendered === "string" ? [{ type: "text", text: rendered }] : rendered;
  let truncated = false;
  const content = blocks.map((block): ContentBlock => {
    if (block.type !== "text") return block;
    const bounded = boundText(block.text, maxBytes);
    truncated ||= bounded.truncated;
    return bounded.truncated ? { type: "text", text: bounded.text } : block;
  });
  return { content, truncated };
};
