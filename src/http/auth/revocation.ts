import { LlmcError } from "../../base/error.ts";
import type { Identity, Token } from "./token-registry.ts";

/** A connection that stays open between two messages of its client: a WebSocket or an event stream. */
interface OpenConnection {
  readonly identity: Identity;
  /** Called when the token was revoked or has lost a scope. */
  end(): void;
}

/** The open connections of all tokens, so that a revocation can end them. */
export const createOpenConnections = () => {
  const open = new Set<OpenConnection>();
  return {
    /** Returns the function that removes the connection again. */
    add: (connection: OpenConnection): (() => void) => {
      open.add(connection);
      return () => void open.delete(connection);
    },
    countOf: (principal: string): number =>
      [...open].filter(({ identity }) => identity.principal === principal).length,
    endWhere: (isRevoked: (identity: Identity) => boolean): void => {
      for (const connection of [...open]) if (isRevoked(connection.identity)) connection.end();
    },
  };
};

export type OpenConnections = ReturnType<typeof createOpenConnections>;

export const tokenRevoked = (): LlmcError =>
  new LlmcError("auth_failed", "The token was revoked or has lost some of its scopes.", {
    hint: "Ask the operator for a new token.",
  });

/** The token of the same principal that is valid now. */
export const currentToken = ({ principal }: Identity, tokens: readonly Token[]): Token | undefined =>
  tokens.find((token) => token.principal === principal);

/** Whether the identity now has fewer rights than when it was authenticated. */
export const hasLostRights = (identity: Identity, tokens: readonly Token[]): boolean => {
  const now = currentToken(identity, tokens);
  return now === undefined || [...identity.scopes].some((scope) => !now.scopes.has(scope));
};
