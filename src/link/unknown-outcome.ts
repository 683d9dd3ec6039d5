import { LlmcError } from "../base/error.ts";

/** The core ended while it worked on a call that changes something. */
export const unknownOutcome = (): LlmcError =>
  new LlmcError("unavailable", "The server was interrupted: whether this call was done is unknown.", {
    hint: "Look at what it would have changed before you make it again.",
    retryable: false,
    details: { outcome: "unknown" },
  });
