/** What one document may become. */
export interface ReadLimits {
  /** Of all sections together. */
  readonly maxChars: number;
  readonly maxSections: number;
  readonly maxPages: number;
}

/** Why a document was not read, by the codes of the error table. */
export const FAILURE_CODES = ["file_too_large", "unsupported_media", "invalid_args"] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** Thrown by parsers: the message is a sentence of ours that quotes nothing of the document. */
export class DocumentFailure extends Error {
  override readonly name = "DocumentFailure";
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}
