import type { IncomingHttpHeaders } from "node:http";
import { LlmcError } from "../base/error.ts";
import { ANYBODY, digestOf, findToken, type Identity, type Token } from "./tokens.ts";

export interface AuthSettings {
  readonly mode: "token" | "none";
  readonly header: string;
}

/** The configured header as Node names it; configured once, read with every request. */
const nodeName = { of: "", is: "" };

const secretIn = (headers: IncomingHttpHeaders, header: string): string | undefined => {
  if (nodeName.of !== header) Object.assign(nodeName, { of: header, is: header.toLowerCase() });
  const own = headers[nodeName.is];
  if (typeof own === "string") return own;
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "");
  return bearer?.[1];
};

export type Authenticated =
  | { readonly kind: "known"; readonly identity: Identity }
  | { readonly kind: "missing" }
  /** The digest of what was sent instead. */
  | { readonly kind: "wrong"; readonly digest: Buffer };

/** Who sends these headers. A token in the address counts for nothing: addresses are logged. */
export const authenticate = (
  headers: IncomingHttpHeaders,
  { mode, header }: AuthSettings,
  tokens: readonly Token[],
  find: (tokens: readonly Token[], secret: string) => Token | undefined = findToken,
): Authenticated => {
  if (mode === "none") return { kind: "known", identity: ANYBODY };
  const secret = secretIn(headers, header);
  if (secret === undefined) return { kind: "missing" };
  const token = find(tokens, secret);
  return token === undefined
    ? { kind: "wrong", digest: digestOf(secret) }
    : { kind: "known", identity: token };
};

export const refuseAuth = (kind: "missing" | "wrong", header: string): LlmcError =>
  new LlmcError("auth_failed", kind === "missing" ? "A token is required." : "The token is wrong.", {
    hint: `Send it in the ${header} header, or as Authorization: Bearer.`,
  });

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** The door does not open where it would be unguarded, nor where a guard that was asked for is missing. */
export const checkAuthPosture = (options: {
  readonly mode: "token" | "none";
  readonly host: string;
  readonly allowUnauthenticated: boolean;
  readonly tokenEnv: string;
  readonly tokens: readonly Token[];
  readonly problems: readonly string[];
}): void => {
  if (options.mode === "token" && options.problems.length > 0) {
    throw new LlmcError("config_invalid", options.problems.join("\n"), {
      hint: "Set the variable, or take the entry out of mcp.auth.tokens.",
    });
  }
  if (options.mode === "token" && options.tokens.length === 0) {
    throw new LlmcError("config_invalid", `The HTTP door needs a token: ${options.tokenEnv} is not set.`, {
      hint: `Set ${options.tokenEnv}, or add --generate-token to make and keep one.`,
    });
  }
  if (options.mode === "none" && !LOOPBACK.has(options.host) && !options.allowUnauthenticated) {
    throw new LlmcError(
      "config_invalid",
      `mcp.auth.mode "none" is refused on ${options.host}: anybody who reaches it could use it.`,
      {
        hint: "Listen on 127.0.0.1, use a token, or set mcp.auth.allow_unauthenticated = true.",
      },
    );
  }
};
