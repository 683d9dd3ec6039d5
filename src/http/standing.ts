import { LlmcError } from "../base/error.ts";
import type { Identity, Token } from "./tokens.ts";

/** Something that stays open between two messages of a client: a WebSocket, an event stream. */
export interface Standing {
  readonly identity: Identity;
  /** The token is no longer in force, or good for less. */
  end(): void;
}

/** What open connections belong to which token, and how many each has. */
export const createStandings = () => {
  const open = new Set<Standing>();
  return {
    add: (standing: Standing): (() => void) => {
      open.add(standing);
      return () => void open.delete(standing);
    },
    endWhere: (isLost: (identity: Identity) => boolean): void => {
      for (const standing of [...open]) if (isLost(standing.identity)) standing.end();
    },
  };
};

export type Standings = ReturnType<typeof createStandings>;

/** What a call hears whose token was taken away, or lost a scope, while it ran. */
export const tokenLost = (): LlmcError =>
  new LlmcError("auth_failed", "The token is no longer in force, or good for less than before.", {
    hint: "Ask the operator for another one.",
  });

/** The token of the same principal that is in force now. */
export const currentToken = ({ principal }: Identity, tokens: readonly Token[]): Token | undefined =>
  tokens.find((token) => token.principal === principal);

/** Whether a token that was let in may now do less than then, or nothing. */
export const hasLost = (identity: Identity, tokens: readonly Token[]): boolean => {
  const now = currentToken(identity, tokens);
  return now === undefined || [...identity.scopes].some((scope) => !now.scopes.has(scope));
};

/** Principals whose tokens have lost everything, or some scope, from one list to the next. */
export const lostBetween = (before: readonly Token[], after: readonly Token[]): readonly Token[] =>
  before.filter((token) => hasLost(token, after));
