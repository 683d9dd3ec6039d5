import { randomBytes } from "node:crypto";

/** Without letters and digits that look alike, and in one case, because models copy them; five bits each. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** An unguessable id of this many letters after a prefix, such as `h_`. */
export const randomId = (prefix: string, letters: number): string =>
  prefix + Array.from(randomBytes(letters), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
