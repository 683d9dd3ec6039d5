import { LlmcError } from "../base/error.ts";

/** Where a failure happened, in words that a caller may read: no address, no key. */
export interface FailurePlace {
  readonly model: string;
  readonly urlKey: string;
  readonly keyVariable: string;
}

/** What the thrown thing was caused by, and that by, itself first. Ends, whatever was thrown. */
const chainOf = (thrown: unknown): readonly object[] => {
  const chain: object[] = [];
  let current = thrown;
  while (typeof current === "object" && current !== null && chain.length < 8) {
    chain.push(current);
    current = "cause" in current ? current.cause : undefined;
  }
  return chain;
};

const statusOf = (one: object): number | undefined =>
  "statusCode" in one && typeof one.statusCode === "number" ? one.statusCode : undefined;

const systemCodeOf = (one: object): string | undefined =>
  "code" in one && typeof one.code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(one.code)
    ? one.code
    : undefined;

const headersOf = (one: object): Readonly<Record<string, unknown>> =>
  "responseHeaders" in one && typeof one.responseHeaders === "object" && one.responseHeaders !== null
    ? (one.responseHeaders as Readonly<Record<string, unknown>>)
    : {};

/** A provider that asks for a day is answered with an hour: by then somebody has looked. */
const MAX_RETRY_MS = 3_600_000;

/** Seconds, milliseconds or a date, as providers say it. */
export const retryAfterMs = (headers: Readonly<Record<string, unknown>>, nowMs: number): number => {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  const said = String(headers["retry-after"] ?? "");
  const seconds = said.trim() === "" ? Number.NaN : Number(said);
  const candidates = [exact, seconds * 1000, Date.parse(said) - nowMs];
  const found = candidates.find((ms) => Number.isFinite(ms) && ms >= 0) ?? 1000;
  return Math.min(MAX_RETRY_MS, Math.max(1, Math.ceil(found)));
};

const ofStatus = (status: number, place: FailurePlace, failure: object): LlmcError => {
  const error = (says: string, hint: string, retryable: boolean) =>
    new LlmcError("provider_error", `${place.model}: ${says} (${status}).`, { hint, retryable });
  if (status === 401 || status === 403) {
    return error(
      "the provider does not accept this server's key",
      place.keyVariable === ""
        ? `The operator names the key's variable beside mcp.llm.${place.urlKey}.`
        : `The operator checks ${place.keyVariable}, and whether it is meant for this model.`,
      false,
    );
  }
  if (status === 404) {
    return error("the provider has no such model", "The operator checks its name, or pulls it.", false);
  }
  if (status === 429) {
    return new LlmcError("rate_limited", `${place.model}: the provider asks for fewer calls.`, {
      hint: "Wait and try again.",
      details: { retry_after_ms: retryAfterMs(headersOf(failure), Date.now()) },
    });
  }
  if (status >= 500 || status === 408 || status === 409) {
    return error("the provider failed", "Try again in a moment.", true);
  }
  return error(
    "the provider refused the request",
    "It may be too long for this model, or the model may not take it.",
    false,
  );
};

const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EADDRNOTAVAIL",
]);

const ofSystem = (code: string, place: FailurePlace): LlmcError => {
  if (UNREACHABLE.has(code)) {
    return new LlmcError("unavailable", `${place.model}: its server cannot be reached (${code}).`, {
      hint: `The operator starts it, or corrects mcp.llm.${place.urlKey}.`,
      retryable: true,
    });
  }
  if (code === "ECONNRESET" || code === "EPIPE" || code.startsWith("HPE_")) return brokeOff(place);
  return new LlmcError("unavailable", `${place.model}: the connection to its server failed (${code}).`, {
    hint: `The operator checks mcp.llm.${place.urlKey} and the server's certificate.`,
  });
};

export const brokeOff = ({ model }: FailurePlace): LlmcError =>
  new LlmcError("provider_error", `${model}: the provider's answer broke off.`, {
    hint: "Try again in a moment.",
  });

export const notUnderstood = ({ model, urlKey }: FailurePlace): LlmcError =>
  new LlmcError("provider_error", `${model}: the provider's answer cannot be understood.`, {
    hint: `Does the server at mcp.llm.${urlKey} speak this provider's language?`,
    retryable: false,
  });

/**
 * A failure of a provider in our words. What the SDK throws holds the prompt, the answer and the key's header, and is let
 * go of here: neither its message nor the thing itself goes on.
 */
export const translateFailure = (thrown: unknown, place: FailurePlace): LlmcError => {
  const chain = chainOf(thrown);
  const ours = chain.find((one) => one instanceof LlmcError);
  if (ours !== undefined) return ours;
  for (const one of chain) {
    const status = statusOf(one);
    if (status !== undefined && status >= 300) return ofStatus(status, place, one);
  }
  for (const one of chain) {
    const code = systemCodeOf(one);
    if (code !== undefined) return ofSystem(code, place);
  }
  return notUnderstood(place);
};
