import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { type LlmcError, toLlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { agreeOn, HELLO_PATH, SCHEMA_HEADER, schemaText } from "./schema-version.ts";
import { fromWireError, toWireError, type WireError } from "./wire.ts";

/**
 * How a front passes on requests of HTTP clients: as requests of its own, over connections that the core has opened to it.
 * Beside what the client sent, each has these headers, which no client can set.
 */
const PEER_HEADER = "llmc-peer";
/** A header of the client's message framing that came more than once; the framing itself is not passed on. */
const REPEATED_HEADER = "llmc-repeated";
/** A trailer in place of a body: why the client's cannot be accepted. */
const REFUSED_TRAILER = "llmc-refused";

/** Headers about how a message travels, and what a front says about it: none of them is passed on. */
const OF_THE_LINK: ReadonlySet<string> = new Set([PEER_HEADER, REPEATED_HEADER, "expect"]);

const NO_ADDRESS = "0.0.0.0";

/** What a front says about a client's request, as header lines. */
export const linkHeaders = (address: string | undefined, repeated: readonly string[]): readonly string[] => [
  PEER_HEADER,
  address ?? NO_ADDRESS,
  ...repeated.flatMap((name) => [REPEATED_HEADER, name]),
];

/** Frames of a body that has to be asked for, because the client may have no right to send one. */
export const BODY_HEADERS: readonly string[] = ["expect", "100-continue", "transfer-encoding", "chunked"];

/** A body that is bounded in the front grows when it is written anew: 1e20 becomes a one and twenty zeros. */
export const MAX_GROWTH = 6;

/**
 * Takes the headers of the link off a request and returns the address of the client; undefined if the front has not named
 * one. Headers that came more than once are in `rawHeaders` more than once.
 */
export const takeLinkHeaders = (request: IncomingMessage): string | undefined => {
  const { rawHeaders, headers } = request;
  const address = headers[PEER_HEADER];
  const others: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = [rawHeaders[i], rawHeaders[i + 1]];
    const lower = name.toLowerCase();
    if (lower === REPEATED_HEADER) others.push(value, "", value, "");
    else if (!OF_THE_LINK.has(lower)) others.push(name, value);
  }
  request.rawHeaders = others;
  for (const name of OF_THE_LINK) delete headers[name];
  return typeof address === "string" && isIP(address) !== 0 ? address : undefined;
};

/** A failure of the front's, for the core, which renders and records it. */
export const encodeRefusal = (thrown: unknown): string => JSON.stringify(toWireError(toLlmcError(thrown)));

const isWireError = (value: unknown): value is WireError =>
  isRecord(value) &&
  typeof value["code"] === "string" &&
  typeof value["message"] === "string" &&
  (value["hint"] === undefined || typeof value["hint"] === "string") &&
  isRecord(value["details"]) &&
  typeof value["retryable"] === "boolean";

/** What a front says is wrong with its client's message. */
export const decodeRefusal = (value: unknown): LlmcError | undefined =>
  isWireError(value) ? fromWireError(value) : undefined;

export const refusedTrailer = (thrown: unknown): Readonly<Record<string, string>> => ({
  [REFUSED_TRAILER]: Buffer.from(encodeRefusal(thrown)).toString("base64url"),
});

/** Undefined where the body is there. */
export const readRefusedTrailer = ({ trailers }: IncomingMessage): LlmcError | undefined => {
  const given = trailers[REFUSED_TRAILER];
  if (given === undefined) return undefined;
  try {
    return decodeRefusal(JSON.parse(Buffer.from(given, "base64url").toString("utf8")));
  } catch {
    return undefined;
  }
};

/** Answers a front that asks how to speak to the core; false if it asks for something else. No client's request comes here. */
export const answerGreeting = ({ url, headers }: IncomingMessage, response: ServerResponse): boolean => {
  const given = headers[SCHEMA_HEADER];
  if (url !== HELLO_PATH || typeof given !== "string") return false;
  response.writeHead(agreeOn(given) === undefined ? 400 : 204, { [SCHEMA_HEADER]: schemaText() }).end();
  return true;
};
