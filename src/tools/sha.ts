import { z } from "zod";

/** Digits of a hash that are shown to a model: enough to tell versions of a file apart, at a tenth of the tokens. */
const SHOWN_DIGITS = 12;

export const shortSha = (sha256: string): string => sha256.slice(0, SHOWN_DIGITS);

/** A hash as a caller gives it back: whole, or the digits that were shown. */
export const shaInput = z.string().regex(/^[0-9a-fA-F]{12,64}$/, "expected 12 to 64 hex digits");

export const sameSha = (given: string, sha256: string): boolean => sha256.startsWith(given.toLowerCase());
