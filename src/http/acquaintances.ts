import { timingSafeEqual } from "node:crypto";
import { findToken, type Token } from "./tokens.ts";

/** A longer secret is digested with every request. */
const MAX_CHARS = 128;
/** A character is at most three bytes of UTF-8. */
const MAX_BYTES = 3 * MAX_CHARS;

interface Acquaintance {
  readonly token: Token;
  /** Those that were in force. */
  readonly tokens: readonly Token[];
  /** The secret, followed by zeros, and its length in bytes. */
  readonly secret: Buffer;
  readonly length: number;
}

/**
 * Connections that have shown a good token: its digest is not made anew for each of their requests. A secret is kept as
 * long as its connection, and counts as long as the same tokens are in force. It is compared in constant time: behind a
 * proxy, strangers may share the connection.
 */
export const createAcquaintances = () => {
  const met = new WeakMap<object, Acquaintance>();
  /** Zeros between two calls. */
  const given = Buffer.alloc(MAX_BYTES);

  const isSame = ({ secret, length }: Acquaintance, shown: string): boolean => {
    const written = given.write(shown);
    const same = timingSafeEqual(given, secret);
    given.fill(0);
    return same && written === length;
  };

  const remember = (connection: object, shown: string, token: Token, tokens: readonly Token[]): void => {
    const secret = Buffer.alloc(MAX_BYTES);
    met.set(connection, { token, tokens, secret, length: secret.write(shown) });
  };

  return {
    /** The token that this secret is for. */
    find: (connection: object, tokens: readonly Token[], shown: string): Token | undefined => {
      if (shown.length > MAX_CHARS) return findToken(tokens, shown);
      const known = met.get(connection);
      if (known !== undefined && known.tokens === tokens && isSame(known, shown)) return known.token;
      const token = findToken(tokens, shown);
      if (token === undefined) met.delete(connection);
      else remember(connection, shown, token, tokens);
      return token;
    },
  };
};
