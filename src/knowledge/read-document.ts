import { LlmcError } from "../base/error.ts";
import type { DocumentAnswer } from "./api/contract.ts";
import { anchorOf, chunkIdOf } from "./search/cite.ts";
import type { Generation, Passage } from "./store/contract.ts";

const RANGE = /^(#|p|L)?(\d{1,7})(?:-(?:#|p|L)?(\d{1,7}))?$/;

/** `10-40` or `L10-L40`: lines; `p3` or `p3-p5`: pages; `#0-#4`: passages by number. */
const selectorOf = (range: string): ((passage: Passage) => boolean) => {
  const [, unit = "L", from, to = from] = RANGE.exec(range.trim()) ?? [];
  if (from === undefined)
    throw new LlmcError("invalid_args", "The range cannot be read.", {
      hint: "10-40 means lines, p3-5 pages, #0-4 passages.",
    });
  const [first, last] = [Number(from), Number(to)];
  const overlaps = (start: number | undefined, end: number | undefined): boolean =>
    start !== undefined && start <= last && (end ?? start) >= first;
  if (unit === "#") return ({ ordinal }) => overlaps(ordinal, ordinal);
  if (unit === "p") return ({ page }) => overlaps(page, page);
  return ({ startLine, endLine }) => overlaps(startLine, endLine);
};

/** A document without a range is returned up to this; the rest is read by ranges of passages. */
const MAX_CHARS = 60_000;

const upTo = (passages: readonly Passage[], maxChars: number): readonly Passage[] => {
  let chars = 0;
  const end = passages.findIndex(({ text }, at) => {
    chars += text.length;
    return at > 0 && chars > maxChars;
  });
  return end < 0 ? passages : passages.slice(0, end);
};

export const toDocumentAnswer = (
  passages: readonly Passage[],
  generation: Generation,
  range: string | undefined,
): DocumentAnswer => {
  const [first] = passages;
  if (first === undefined)
    throw new LlmcError("resource_not_found", "The document has no text.", {
      hint: "Its file may be empty.",
    });
  const { document } = first;
  const wanted = range === undefined ? passages : passages.filter(selectorOf(range));
  const shown = upTo(wanted, MAX_CHARS);
  const left = wanted.length - shown.length;
  const next = shown.at(-1)?.ordinal ?? 0;
  return {
    metadata: {
      title: document.title,
      uri: document.uri,
      format: document.format,
      collection: generation.collection,
      version: generation.version,
      bytes: document.bytes,
      chunks: passages.length,
      warnings: [
        ...document.warnings,
        ...(left > 0 ? [`${left} more passages: ask for the range #${next + 1}-${next + left}`] : []),
      ],
    },
    chunks: shown.map((passage) => ({
      chunk_id: chunkIdOf(passage, generation),
      text: passage.text,
      anchor: anchorOf(passage),
      headings: [...passage.headings],
    })),
    ...(document.licence === undefined ? {} : { license: document.licence }),
  };
};
