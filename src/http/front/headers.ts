import type { IncomingMessage } from "node:http";
import { linkHeaders } from "../../link/http-link.ts";
import { parseTarget } from "../requests/target.ts";

/** Everything that the server reads of a request; what is not here does not reach it. */
const PASSED_ON: ReadonlySet<string> = new Set([
  ...["host", "origin", "authorization", "accept", "content-type", "content-encoding", "last-event-id"],
  ...["sec-fetch-site", "traceparent", "x-forwarded-for", "x-correlation-id", "x-request-id"],
  ...["x-llmc-agent", "x-llmc-model", "x-llmc-budget-profile"],
]);

/** Of the protocol; some are named for arguments of tools. */
const PROTOCOL = "mcp-";

/** Frames of messages: the front makes its own, and says which ones came twice. */
const FRAMING: readonly string[] = ["content-length", "transfer-encoding"];

/** How a response travels; the front's own server decides that for its clients. */
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "trailer", "upgrade", "date"],
]);

interface Pair {
  readonly name: string;
  readonly value: string;
}

const pairsOf = (rawHeaders: readonly string[]): readonly Pair[] => {
  const pairs: Pair[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    pairs.push({ name: (rawHeaders[i] ?? "").toLowerCase(), value: rawHeaders[i + 1] ?? "" });
  return pairs;
};

/** What may be passed on is sent as often as it came: the core refuses what has to come once. */
const passedOn = (pairs: readonly Pair[], tokenHeader: string): readonly Pair[] =>
  pairs.filter(({ name }) => PASSED_ON.has(name) || name.startsWith(PROTOCOL) || name === tokenHeader);

const repeatedFraming = (pairs: readonly Pair[]): readonly string[] =>
  FRAMING.filter((framing) => pairs.filter(({ name }) => name === framing).length > 1);

export interface Head {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
}

/** A request as the front writes it: a path, the headers that the server reads, and where it came from. */
export const headOf = (request: IncomingMessage, tokenHeader: string): Head => {
  const { method = "GET", url, rawHeaders, socket } = request;
  const { path, host } = parseTarget(url);
  const pairs = pairsOf(rawHeaders);
  return {
    method,
    path,
    headers: [
      ...passedOn(pairs, tokenHeader)
        .filter(({ name }) => host === undefined || name !== "host")
        .flatMap(({ name, value }) => [name, value]),
      ...(host === undefined ? [] : ["host", host]),
      ...linkHeaders(socket.remoteAddress, repeatedFraming(pairs)),
    ],
  };
};

/** The headers of an answer, in turn with their values, for the client. */
export const answerHeaders = ({ rawHeaders, headers }: IncomingMessage, isLast = false): string[] => [
  ...pairsOf(rawHeaders)
    .filter(({ name }) => !OF_ONE_CONNECTION.has(name))
    .flatMap(({ name, value }) => [name, value]),
  // Whoever may not go on with this connection has not been read to the end.
  ...(isLast || headers.connection === "close" ? ["connection", "close"] : []),
];
