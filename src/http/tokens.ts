import { hash, timingSafeEqual } from "node:crypto";
import { LlmcError } from "../base/error.ts";
import { SCOPES, type Scope, TOKEN_ENTRY } from "./scopes.ts";

/** Whom a request comes from, once its token is known. */
export interface Identity {
  /** The token's name: it keys limits and, where nothing else does, names the agent. */
  readonly name: string;
  /** Owner of what outlives a call. A token that is issued anew under the same name is another principal. */
  readonly principal: string;
  readonly scopes: ReadonlySet<Scope>;
}

export interface Token extends Identity {
  /** SHA-256 of the secret, which itself is kept by open connections only (acquaintances.ts). */
  readonly digest: Buffer;
}

/** Name of the one token of the plain configuration, and of whoever calls where nobody is asked for one. */
const DEFAULT_NAME = "default";
const EVERYTHING: ReadonlySet<Scope> = new Set(SCOPES);

export const ANYBODY: Identity = { name: "anonymous", principal: "anonymous", scopes: EVERYTHING };

/** Hexadecimal digits of the secret's digest in a principal: enough to tell secrets apart, too few to be one. */
const PRINCIPAL_DIGITS = 16;

const makeToken = (name: string, scopes: ReadonlySet<Scope>, digest: Buffer): Token => ({
  name,
  principal: `token:${name}:${digest.toString("hex").slice(0, PRINCIPAL_DIGITS)}`,
  scopes,
  digest,
});

/** One character for each byte: Node hands out a string in a third of the time of a buffer. */
const digestText = (secret: string): string => hash("sha256", secret, "binary");

export const digestOf = (secret: string): Buffer => Buffer.from(digestText(secret), "latin1");

interface TokenSources {
  /** Secret of the plain configuration (`token_env`), if it is set. */
  readonly plain: string | undefined;
  /** Entries of `mcp.auth.tokens`, already checked against their pattern. */
  readonly entries: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const widen = (scopes: readonly string[]): ReadonlySet<Scope> =>
  scopes.includes("admin") ? EVERYTHING : new Set(scopes as readonly Scope[]);

/** The tokens in force, and what is wrong with those that are not. */
export const resolveTokens = ({ plain, entries, env }: TokenSources) => {
  const tokens: Token[] = [];
  const problems: string[] = [];
  if (plain !== undefined && plain !== "") {
    tokens.push(makeToken(DEFAULT_NAME, EVERYTHING, digestOf(plain)));
  }
  const seen = new Set([DEFAULT_NAME, ANYBODY.name]);
  for (const entry of entries) {
    const { name = "", scopes = "", variable, digest } = TOKEN_ENTRY.exec(entry)?.groups ?? {};
    const secret = variable === undefined ? undefined : env[variable];
    if (seen.has(name)) problems.push(`mcp.auth.tokens: the name ${name} is taken`);
    else if (variable !== undefined && (secret === undefined || secret === ""))
      problems.push(`mcp.auth.tokens: ${name} has no token, because ${variable} is not set`);
    else {
      const own = secret === undefined ? Buffer.from(digest ?? "", "hex") : digestOf(secret);
      tokens.push(makeToken(name, widen(scopes.split(",")), own));
    }
    seen.add(name);
  }
  return { tokens, problems };
};

/** For the digest of a secret while it is compared, within one turn. */
const given = Buffer.alloc(32);

/** Looks at every token, whichever fits: the time taken says nothing about which, nor how nearly. */
export const findToken = (tokens: readonly Token[], secret: string): Token | undefined => {
  given.write(digestText(secret), "latin1");
  let found: Token | undefined;
  for (const token of tokens) if (timingSafeEqual(token.digest, given)) found = token;
  return found;
};

export const refuseScope = ({ name, scopes }: Identity, needed: Scope): void => {
  if (scopes.has(needed)) return;
  throw new LlmcError(
    "forbidden",
    `The token ${name} is not good for this: it lacks the scope "${needed}".`,
    {
      hint: "The operator grants scopes in mcp.auth.tokens.",
    },
  );
};
