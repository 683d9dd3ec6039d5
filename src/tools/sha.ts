import { z } from "zod";

/** Digits of a hash that are shown to a model: enough to tell versions of a file apart, at a tenth of the tokens. */
const SHOWN_DIGITS = 12;

export const shortSha = (sha256: string): string => sha256.slice(0, SHOWN_DIGITS);

/** A hash as a caller gives it back: whole, or the digits that were shown. Checked here: a published pattern costs tokens. */
export const shaInput = z
  .string()
  .refine((given) => /^[0-9a-fA-F]{12,64}$/.test(given), "expected 12 to 64 hex digits");

/** A file whose content is shorter than this costs less to send again than its hash. */
const WORTH_A_HASH_CHARS = 1000;

/** The hash as a note below a file's content, where it is worth its tokens. */
export const shaNote = (content: string, sha256: string | undefined): string =>
  sha256 !== undefined && content.length > WORTH_A_HASH_CHARS ? `sha256 ${shortSha(sha256)}` : "";

export const sameSha = (given: string, sha256: string): boolean => sha256.startsWith(given.toLowerCase());
