import { hash, timingSafeEqual } from "node:crypto";
import { LOCAL } from "../../core/contract.ts";
import { SCOPES, type Scope, TOKEN_ENTRY } from "./scopes.ts";

/** Who sends a request, once the token is known. */
export interface Identity {
  /** The token's name. Limits are counted by it, and it names the agent where the request does not. */
  readonly name: string;
  /** Owner of what outlives a call. A new secret under the same name is another principal. */
  readonly principal: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** Where a person finds a secret. */
export type SecretSource = { readonly variable: string } | { readonly file: string };

export interface Token extends Identity {
  /** SHA-256 of the secret. The secret itself is not kept. */
  readonly digest: Buffer;
  /** Undefined where the configuration has only its digest. */
  readonly source: SecretSource | undefined;
}

/** Name of the token that `mcp.auth.token_env` holds. */
const DEFAULT_NAME = "default";
const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);

/** Everybody, where `mcp.auth.mode` is "none". */
export const ANONYMOUS: Identity = { name: "anonymous", principal: "anonymous", scopes: ALL_SCOPES };

/** Whether the operator has given the identity a name of its own. */
export const isNamed = ({ name }: Identity): boolean => name !== DEFAULT_NAME && name !== ANONYMOUS.name;

/** Hexadecimal digits of the digest in a principal: enough to tell secrets apart, too few to recover one. */
const PRINCIPAL_DIGITS = 16;

const createToken = (
  name: string,
  scopes: ReadonlySet<Scope>,
  digest: Buffer,
  source: SecretSource | undefined,
): Token => ({
  name,
  principal: `token:${name}:${digest.toString("hex").slice(0, PRINCIPAL_DIGITS)}`,
  scopes,
  digest,
  source,
});

/** By way of a string, which takes Node a third of the time of a buffer. */
export const digestOf = (secret: string): Buffer => Buffer.from(hash("sha256", secret, "binary"), "latin1");

interface TokenSources {
  /** The secret in the variable that `mcp.auth.token_env` names, if it is set, or in the server's own file. */
  readonly defaultSecret: string | undefined;
  readonly defaultSource?: SecretSource | undefined;
  /** Entries of `mcp.auth.tokens`, already checked against their pattern. */
  readonly entries: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const scopesOf = (names: readonly string[]): ReadonlySet<Scope> =>
  names.includes("admin") ? ALL_SCOPES : new Set(names as readonly Scope[]);

/** The valid tokens, and the problems of the entries that are not. */
export const resolveTokens = ({ defaultSecret, defaultSource, entries, env }: TokenSources) => {
  const tokens: Token[] = [];
  const problems: string[] = [];
  if (defaultSecret !== undefined && defaultSecret !== "") {
    tokens.push(createToken(DEFAULT_NAME, ALL_SCOPES, digestOf(defaultSecret), defaultSource));
  }
  // `local` is how policies name whoever needs no token.
  const seen = new Set([DEFAULT_NAME, ANONYMOUS.name, LOCAL]);
  for (const entry of entries) {
    const { name = "", scopes = "", variable, digest } = TOKEN_ENTRY.exec(entry)?.groups ?? {};
    const secret = variable === undefined ? undefined : env[variable];
    if (seen.has(name)) problems.push(`mcp.auth.tokens: the name ${name} is already taken`);
    else if (variable !== undefined && (secret === undefined || secret === ""))
      problems.push(`mcp.auth.tokens: ${name} has no token, because ${variable} is not set`);
    else {
      const own = secret === undefined ? Buffer.from(digest ?? "", "hex") : digestOf(secret);
      tokens.push(
        createToken(
          name,
          scopesOf(scopes.split(",")),
          own,
          variable === undefined ? undefined : { variable },
        ),
      );
    }
    seen.add(name);
  }
  return { tokens, problems };
};

/** Compares with every token, so that the time taken does not reveal which one matches, or how nearly. */
export const findToken = (tokens: readonly Token[], secret: string): Token | undefined => {
  const digest = digestOf(secret);
  let found: Token | undefined;
  for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token;
  return found;
};
