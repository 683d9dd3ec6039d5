import { LlmcError } from "../base/error.ts";
import { checkCollection, type KnowledgeCaller } from "./api/caller.ts";
import type { DocumentAnswer, DocumentRequest } from "./api/contract.ts";
import { parseDocumentId } from "./api/ids.ts";
import type { Catalogue } from "./catalogue.ts";
import { exactVersion, gone } from "./exact-version.ts";
import { anchorOf, chunkIdOf } from "./search/cite.ts";
import type { DocumentPart, Generation, PassageRange, Store } from "./store/contract.ts";

const RANGE = /^(#|p|L)?(\d{1,7})(?:-(?:#|p|L)?(\d{1,7}))?$/;

const UNITS: Readonly<Record<string, PassageRange["unit"]>> = { "#": "ordinal", p: "page", L: "line" };

/** `10-40` or `L10-L40`: lines; `p3` or `p3-p5`: pages; `#0-#4`: passages by number. */
const rangeOf = (range: string): PassageRange => {
  const [, mark = "L", from, to = from] = RANGE.exec(range.trim()) ?? [];
  if (from === undefined)
    throw new LlmcError("invalid_args", "The range cannot be read.", {
      hint: "10-40 means lines, p3-5 pages, #0-4 passages.",
    });
  return { unit: UNITS[mark] ?? "line", first: Number(from), last: Number(to) };
};

/** A document or range is returned up to this; the rest is read by ranges of passages. */
const MAX_CHARS = 60_000;

/** By what a document can be asked for: `pages p1-12 and passages #0-30`. */
const rangesOf = async (store: Store, generation: number, key: string, chunks: number): Promise<string> => {
  const at = async (ordinal: number) =>
    (await store.readPart(generation, key, { unit: "ordinal", first: ordinal, last: ordinal }, 1))
      ?.passages[0];
  const [first, last] = [await at(0), await at(chunks - 1)];
  return [
    ...(first?.page === undefined ? [] : [`pages p${first.page}-${last?.page ?? first.page}`]),
    ...(first?.startLine === undefined
      ? []
      : [`lines ${first.startLine}-${last?.endLine ?? first.startLine}`]),
    `passages #0-${chunks - 1}`,
  ].join(" and ");
};

const toDocumentAnswer = (
  { document, chunks, wanted, passages }: DocumentPart,
  generation: Generation,
): DocumentAnswer => {
  const left = wanted - passages.length;
  const next = passages.at(-1)?.ordinal ?? 0;
  return {
    metadata: {
      title: document.title,
      uri: document.uri,
      format: document.format,
      collection: generation.collection,
      version: generation.version,
      bytes: document.bytes,
      chunks,
      warnings: [
        ...document.warnings,
        ...(left > 0 ? [`${left} more passages: ask for the range #${next + 1}-${next + left}`] : []),
      ],
    },
    chunks: passages.map((passage) => ({
      chunk_id: chunkIdOf(passage, generation),
      text: passage.text,
      anchor: anchorOf(passage),
      headings: [...passage.headings],
    })),
    ...(document.licence === undefined ? {} : { license: document.licence }),
  };
};

export const getDocument = async (
  { catalogue, store }: { readonly catalogue: Catalogue; readonly store: Store },
  { doc_id: id, range }: DocumentRequest,
  caller: KnowledgeCaller,
): Promise<DocumentAnswer> => {
  const { collection, version, key } = parseDocumentId(id);
  checkCollection(caller, collection);
  const asked = range === undefined ? undefined : rangeOf(range);
  const generation = exactVersion(await catalogue.find(collection), version, "document");
  const part = await store.readPart(generation.id, key, asked, MAX_CHARS);
  if (part === undefined) throw gone("document");
  if (part.chunks === 0)
    throw new LlmcError("resource_not_found", "The document has no text.", {
      hint: "Its file may be empty.",
    });
  const answer = toDocumentAnswer(part, generation);
  if (part.passages.length > 0) return answer;
  const note = `nothing in that range: the document has ${await rangesOf(store, generation.id, key, part.chunks)}`;
  return { ...answer, metadata: { ...answer.metadata, warnings: [...answer.metadata.warnings, note] } };
};
