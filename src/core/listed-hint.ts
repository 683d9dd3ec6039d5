import { LlmcError } from "../base/error.ts";

/**
 * The same error with a hint that the caller can follow: sentences that name a tool which the mode does not list are
 * left out. Whoever throws an error need not know the mode; a second way out is a sentence of its own.
 */
export const withListedTools = (error: LlmcError, unlisted: ReadonlySet<string>): LlmcError => {
  const { code, message, hint, details, retryable, cause } = error;
  if (hint === undefined || unlisted.size === 0) return error;
  const sentences = hint.split(/(?<=[.?!]) /);
  const kept = sentences.filter(
    (sentence) => !(sentence.match(/\w+/g) ?? []).some((word) => unlisted.has(word)),
  );
  if (kept.length === sentences.length) return error;
  const left = kept.length === 0 ? {} : { hint: kept.join(" ") };
  return new LlmcError(code, message, { ...left, details, retryable, cause });
};
