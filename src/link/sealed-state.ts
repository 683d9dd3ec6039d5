import { createHmac, timingSafeEqual } from "node:crypto";
import { LlmcError } from "../base/error.ts";

/** How long a client may take to answer, as the SDK's own codec lets it. */
const MAX_AGE_MS = 10 * 60_000;

/**
 * State that a tool leaves with the client travels through the front, which is not trusted: the core signs it, with what it
 * was made for, and takes back only what it has signed.
 */
export const createSealedState = (key: Uint8Array, now: () => number) => {
  const sign = (payload: string): Buffer => createHmac("sha256", key).update(payload).digest();
  return {
    seal: (target: string, state: unknown): string | null => {
      if (state === undefined) return null;
      const payload = JSON.stringify({ target, at: Math.round(now()), state });
      return `${sign(payload).toString("base64url")}.${payload}`;
    },
    open: (target: string, sealed: string | null): unknown => {
      if (sealed === null) return undefined;
      const dot = sealed.indexOf(".");
      const payload = sealed.slice(dot + 1);
      const expected = sign(payload);
      const given = Buffer.from(sealed.slice(0, Math.max(0, dot)), "base64url");
      if (given.length === expected.length && timingSafeEqual(given, expected)) {
        const opened = JSON.parse(payload) as { target: string; at: number; state: unknown };
        if (opened.target === target && now() - opened.at <= MAX_AGE_MS) return opened.state;
      }
      throw new LlmcError("invalid_args", "The state of the request is not valid, or too old.", {
        hint: "Make the call again from its start.",
      });
    },
  };
};

export type SealedState = ReturnType<typeof createSealedState>;
