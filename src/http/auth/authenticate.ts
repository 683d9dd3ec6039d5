import type { IncomingHttpHeaders } from "node:http";
import { LlmcError } from "../../base/error.ts";
import { ANONYMOUS, digestOf, findToken, type Identity, type Token } from "./token-registry.ts";

export interface AuthSettings {
  readonly mode: "token" | "none";
  readonly header: string;
}

const secretIn = (headers: IncomingHttpHeaders, header: string): string | undefined => {
  const name = header.toLowerCase();
  const own = headers[name];
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  // With the scheme, the header is the one that clients of HTTP know.
  return typeof own !== "string" || (name === "authorization" && bearer !== undefined) ? bearer : own;
};

type Authentication =
  | { readonly kind: "known"; readonly identity: Identity }
  | { readonly kind: "missing" }
  /** The digest of the secret that was sent. */
  | { readonly kind: "wrong"; readonly digest: Buffer };

/** Who sends these headers. A token in the URL is ignored, because URLs are logged. */
export const authenticate = (
  headers: IncomingHttpHeaders,
  { mode, header }: AuthSettings,
  tokens: readonly Token[],
): Authentication => {
  if (mode === "none") return { kind: "known", identity: ANONYMOUS };
  const secret = secretIn(headers, header);
  if (secret === undefined) return { kind: "missing" };
  const token = findToken(tokens, secret);
  return token === undefined
    ? { kind: "wrong", digest: digestOf(secret) }
    : { kind: "known", identity: token };
};

export const authFailed = (kind: "missing" | "wrong", header: string): LlmcError =>
  new LlmcError("auth_failed", kind === "missing" ? "A token is required." : "The token is wrong.", {
    hint: `Send it in the ${header} header, or as Authorization: Bearer.`,
  });

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** Of an address to listen on. */
export const isLoopback = (host: string): boolean => LOOPBACK.has(host);

/** Refuses to start a server that would be open to everybody, or whose configured tokens cannot be used. */
export const checkAuthSettings = (options: {
  readonly mode: "token" | "none";
  readonly host: string;
  readonly allowUnauthenticated: boolean;
  readonly tokenEnv: string;
  readonly tokens: readonly Token[];
  readonly problems: readonly string[];
}): void => {
  if (options.mode === "token" && options.problems.length > 0) {
    throw new LlmcError("config_invalid", options.problems.join("\n"), {
      hint: "Set the variable, or remove the entry from mcp.auth.tokens.",
    });
  }
  if (options.mode === "token" && options.tokens.length === 0) {
    throw new LlmcError("config_invalid", `The HTTP server needs a token: ${options.tokenEnv} is not set.`, {
      hint: `Set ${options.tokenEnv}, or add --generate-token to create and store one.`,
    });
  }
  if (options.mode === "none" && !isLoopback(options.host) && !options.allowUnauthenticated) {
    throw new LlmcError(
      "config_invalid",
      `mcp.auth.mode "none" is refused on ${options.host}: anybody who can reach this address could use the server.`,
      { hint: "Listen on 127.0.0.1, use a token, or set mcp.auth.allow_unauthenticated = true." },
    );
  }
};
