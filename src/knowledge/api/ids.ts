import { createHash } from "node:crypto";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { isVersion } from "../versions/semver.ts";

/** `handbook@1.2.0/0123456789abcdef0123`: a document of one version, which a citation can name for good. */
export interface DocumentId {
  readonly collection: string;
  readonly version: string;
  readonly key: string;
}

/** The same with the number of a passage: `handbook@1.2.0/0123456789abcdef0123#4`. */
export interface ChunkId extends DocumentId {
  readonly ordinal: number;
}

/** Digits of a document's key, in hexadecimal: 80 bits, so that a million documents share none. */
export const DOCUMENT_KEY_DIGITS = 20;

/** The key of the document that this text stands for. */
export const documentKeyOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, DOCUMENT_KEY_DIGITS);

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const ID = new RegExp(
  `^([a-z0-9][a-z0-9._-]{0,63})@([0-9A-Za-z.+-]{1,100})/([0-9a-f]{${DOCUMENT_KEY_DIGITS}})(?:#(\\d{1,6}))?$`,
);

export const isName = (value: unknown): value is string => typeof value === "string" && NAME.test(value);

/** Also the name of a file in a pack, and of a resource in a policy: one spelling everywhere. */
export const checkName = (name: string): string => {
  if (isName(name)) return name;
  throw new LlmcError("invalid_args", "That is not a name of a knowledge base.", {
    hint: "Names have up to 64 lower-case letters, digits, dots, hyphens and underscores, and begin with a letter or digit.",
  });
};

export const documentId = ({ collection, version, key }: DocumentId): string =>
  `${collection}@${version}/${key}`;

export const chunkId = (id: ChunkId): string => `${documentId(id)}#${id.ordinal}`;

const badId = (text: string, what: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(text)} is not the id of a ${what}.`, {
    hint: `Ids of ${what}s come from kb_hybrid_search.`,
  });

export const parseDocumentId = (text: string): DocumentId => {
  const [, collection, version, key] = ID.exec(text) ?? [];
  if (collection === undefined || version === undefined || key === undefined || !isVersion(version))
    throw badId(text, "document");
  return { collection, version, key };
};

export const parseChunkId = (text: string): ChunkId => {
  const [, collection, version, key, ordinal] = ID.exec(text) ?? [];
  if (
    collection === undefined ||
    version === undefined ||
    key === undefined ||
    ordinal === undefined ||
    !isVersion(version)
  )
    throw badId(text, "passage");
  return { collection, version, key, ordinal: Number(ordinal) };
};
