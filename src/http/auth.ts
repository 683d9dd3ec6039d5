import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { LlmcError } from "../base/error.ts";

export interface AuthSettings {
  readonly mode: "token" | "none";
  readonly header: string;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares digests, so that neither content nor length shows in the time taken. */
const sameSecret = (given: string, expected: Buffer): boolean => timingSafeEqual(digest(given), expected);

const tokenIn = (request: FastifyRequest, header: string): string | undefined => {
  const own = request.headers[header.toLowerCase()];
  if (typeof own === "string") return own;
  const bearer = request.headers.authorization;
  return bearer?.startsWith("Bearer ") ? bearer.slice("Bearer ".length) : undefined;
};

/** Refuses a request that does not carry the token. A token in the address counts for nothing: addresses are logged. */
export const createAuthenticator = (settings: () => AuthSettings, token: string | undefined) => {
  const expected = token === undefined ? undefined : digest(token);
  return (request: FastifyRequest): void => {
    const { mode, header } = settings();
    if (mode === "none") return;
    const given = tokenIn(request, header);
    if (given === undefined || expected === undefined || !sameSecret(given, expected)) {
      throw new LlmcError(
        "auth_failed",
        given === undefined ? "A token is required." : "The token is wrong.",
        {
          hint: `Send it in the ${header} header, or as Authorization: Bearer.`,
        },
      );
    }
  };
};

const LOOPBACK = new Set(["127.0.0.1", "::1", "localhost"]);

/** The door does not open where it would be unguarded. */
export const checkAuthPosture = (options: {
  readonly mode: "token" | "none";
  readonly host: string;
  readonly allowUnauthenticated: boolean;
  readonly tokenEnv: string;
  readonly token: string | undefined;
}): void => {
  if (options.mode === "token" && (options.token === undefined || options.token === "")) {
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
