import type { ParsedDocument } from "../contract.ts";
import type { FailureCode, ReadLimits } from "../text/limits.ts";

/*
 * What passes between the server and a reader process. A request is two frames, this header and the bytes; the answer is
 * one frame, of which the server believes nothing (`check-answer.ts`).
 */

export interface ReadRequest {
  readonly name: string;
  readonly mediaType?: string | undefined;
  readonly limits: ReadLimits;
}

export type ReadAnswer =
  | { readonly document: ParsedDocument }
  | { readonly failure: { readonly code: FailureCode; readonly message: string } };

/** The first frame of a reader: its code is loaded, and the time of a document counts from when it is sent. */
export const READY = "ready";
