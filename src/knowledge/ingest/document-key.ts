import { createHash } from "node:crypto";
import type { SourceDocument } from "../../documents/contract.ts";
import type { DocumentFacts, Source } from "../store/contract.ts";
import { CHUNK_RECIPE } from "./chunk-document.ts";

/** A document with what is known of it before it is parsed. */
export interface KeyedDocument {
  readonly item: SourceDocument;
  readonly facts: DocumentFacts;
}

/** Characters of a key in hexadecimal: 80 bits, so that a million documents share none. */
const KEY_CHARS = 20;

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
        key: createHash("sha256")
          .update(JSON.stringify([source, ...parts]))
          .digest("hex")
          .slice(0, KEY_CHARS),
        uri,
        source,
        title: item.name,
        format: "",
        licence: item.licence,
        version: item.version,
        hash: item.contentHash,
        bytes: item.bytes.byteLength,
        warnings: [],
      },
    };
  };
