import type { SourceDocument } from "../../documents/contract.ts";
import { asLine, MAX_TITLE_CHARS } from "../../documents/document-checks.ts";
import { documentKeyOf } from "../api/ids.ts";
import type { DocumentFacts, Source } from "../store/contract.ts";
import { CHUNK_RECIPE } from "./chunk-document.ts";

/** A document with what is known of it before it is parsed. */
export interface KeyedDocument {
  readonly item: SourceDocument;
  readonly facts: DocumentFacts;
}

/**
 * The key of a document follows from where it was found, its content, and how it is cut and embedded: whoever reads the
 * same document again, on whatever machine, gets the same key and the same passages.
 */
export const createDocumentKeys =
  (embedderId: string) =>
  (item: SourceDocument, source: Source, uri: string): KeyedDocument => {
    const parts = [uri, item.contentHash, item.licence ?? "", item.version ?? "", embedderId, CHUNK_RECIPE];
    return {
      item,
      facts: {
        key: documentKeyOf(JSON.stringify([source, ...parts])),
        uri,
        source,
        title: asLine(item.name).slice(0, MAX_TITLE_CHARS),
        format: "",
        licence: item.licence && asLine(item.licence),
        version: item.version && asLine(item.version),
        hash: item.contentHash,
        bytes: item.bytes.byteLength,
        warnings: [],
      },
    };
  };
