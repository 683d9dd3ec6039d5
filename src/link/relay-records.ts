/**
 * What supervisor and front say to each other over two pipes: one record per line, a letter, then fields without spaces,
 * then, for some, a payload that may hold anything but a newline. The supervisor never looks into payloads of the client.
 *
 * To the front:
 *   I json                 who it is: see `FrontHello`
 *   C json                 the newest snapshot; over HTTP, the settings that may change: see `HttpFrontSettings`
 *   U g                    the core of generation g is there
 *   N                      the core is gone
 *   L n g a line           line n of the client, first delivered while core g lived; a fronts have had it before
 *   X n g a size max h t   a line that is not passed on, with its two ends in Base64: it is longer than max, or, where
 *                          max is 0, fronts died of it
 *   R n line               a line of the negotiation, already answered
 *   P                      are you well?
 *   E                      there is nothing more to come
 * To the supervisor:
 *   H                      well, and done with everything before the P
 *   O g                    agreed with the core of generation g on how to speak to it
 *   F                      there is no version of the link that it and the core both speak
 *   T n                    line n was parsed
 *   A n json               the answer to line n
 *   G n json               another answer to line n, sent together with its A (or D)
 *   D n                    line n needs no answer, or no other
 *   M json                 any other message
 *   K n                    line n belongs to the negotiation: the next front needs it, too
 *   Z n                    it no longer does
 *   W n                    line n is open for good, and the next front takes it over
 *   Q count                questions that the client has not answered yet
 *   V text                 the last change of which the client was notified
 *   S count                connections of clients, over HTTP
 */
const SPACE = 32;

/** Fields between the letter and the payload. */
const FIELDS: Readonly<Record<string, number>> = {
  ...{ I: 0, C: 0, U: 1, N: 0, L: 3, X: 7, R: 1, P: 0, E: 0 },
  ...{ H: 0, O: 1, F: 0, T: 1, A: 1, G: 1, D: 1, M: 0, K: 1, Z: 1, W: 1, Q: 1, V: 1, S: 1 },
};

export interface RelayRecord {
  readonly kind: string;
  readonly fields: readonly string[];
  readonly payload: Buffer;
}

const NEWLINE = Buffer.from("\n");

/** The bytes of a record, in parts, so that a payload is not copied. */
export const encodeRecord = (
  kind: string,
  fields: readonly (string | number)[] = [],
  payload?: Uint8Array | string,
): readonly Uint8Array[] => {
  const head = [kind, ...fields].join(" ");
  if (payload === undefined) return [Buffer.from(`${head}\n`)];
  if (typeof payload === "string") return [Buffer.from(`${head} ${payload}\n`)];
  return [Buffer.from(`${head} `), payload, NEWLINE];
};

/** Undefined if it is not a record of ours. */
export const decodeRecord = (line: Buffer): RelayRecord | undefined => {
  const kind = String.fromCharCode(line[0] ?? 0);
  const count = FIELDS[kind];
  if (count === undefined) return undefined;
  const fields: string[] = [];
  let start = 1;
  for (let i = 0; i < count; i++) {
    if (line[start] !== SPACE) return undefined;
    const end = line.indexOf(SPACE, start + 1);
    fields.push(line.toString("latin1", start + 1, end === -1 ? line.length : end));
    start = end === -1 ? line.length : end;
  }
  if (start < line.length && line[start] !== SPACE) return undefined;
  return { kind, fields, payload: line.subarray(start + 1) };
};

/** What a front learns when it starts. */
export interface FrontHello {
  /** Counts fronts: ids of its own requests to the client begin with it. */
  readonly front: number;
  /** Names the client's connection in logs. */
  readonly session: string;
  /** The number of an inherited listener, to which the core connects; null in a front that only loads its code. */
  readonly listener: number | null;
  /** Front and core show it to each other. */
  readonly token: string;
  /** Base64: signs what travels through the client. All fronts of a supervisor have the same. */
  readonly stateKey: string;
  /** The last change of which earlier fronts notified the client; empty for the first front. */
  readonly seen: string;
  /** Left out over stdio: the front then has one client, whose lines the supervisor hands it. */
  readonly http?: HttpFrontHello;
}

/** What a front over HTTP learns when it starts. Lengths of time are in milliseconds. */
export interface HttpFrontHello {
  /** The number of the inherited listener that clients connect to; null in a front that only loads its code. */
  readonly listener: number | null;
  /** In an air gap: by which the program outside says who connects. */
  readonly passedOnBy: { readonly port: number; readonly secret: string } | undefined;
  readonly limits: {
    readonly maxHeaderBytes: number;
    readonly maxConnections: number;
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly idleTimeoutMs: number;
  };
  readonly maxRequestBytes: number;
  /** Of all bodies that are being read. */
  readonly maxBodyBytes: number;
}

/** What a front over HTTP has to know besides, and may change while it runs. */
export interface HttpFrontSettings {
  /** The header that carries tokens, in lower case. */
  readonly tokenHeader: string;
}
