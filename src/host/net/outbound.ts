import { type LookupAddress, type LookupAllOptions, lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { LlmcError } from "../../base/error.ts";
import { type EgressReach, isLoopbackAddress, isPrivateAddress } from "../../policy/egress.ts";

interface OutboundRules {
  /** The only origin that is connected to. */
  readonly origin: string;
  /** Other addresses are refused, after the name was looked up and before a packet is sent. */
  readonly reach: EgressReach;
  readonly maxResponseBytes: number;
}

const REFUSALS = {
  loopback: [
    "The server's address is not on this machine.",
    "Only connections to this machine are allowed: see mcp.rlm.profile.",
  ],
  private: [
    "The server's address is not in a private network.",
    "Only connections to private addresses are allowed: see mcp.rlm.profile and mcp.rlm.private_hosts.",
  ],
} as const;

type Bounded = Exclude<EgressReach, "anywhere">;

const outOfReach = (reach: Bounded): LlmcError => {
  const [message, hint] = REFUSALS[reach];
  return new LlmcError("egress_denied", message, { hint });
};

const JUDGES: Readonly<Record<Bounded, (address: string) => boolean>> = {
  loopback: isLoopbackAddress,
  private: isPrivateAddress,
};

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** The address that is connected to is the one that was judged: nothing is looked up twice. */
export const createJudgedLookup =
  (resolve: Resolve, isAllowed: (address: string) => boolean, refusal: () => LlmcError): LookupFunction =>
  (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, "");
      const [first] = found;
      if (first === undefined || !found.every(({ address }) => isAllowed(address))) {
        return done(refusal(), "");
      }
      if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };

export const createReachLookup = (reach: Bounded, resolve: Resolve): LookupFunction =>
  createJudgedLookup(resolve, JUDGES[reach], () => outOfReach(reach));

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "");
  }
  return headers;
};

async function* bounded(message: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of message) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) {
      throw new LlmcError("provider_error", `The server's answer is longer than ${maxBytes} bytes.`, {
        retryable: false,
      });
    }
    yield chunk as Buffer;
  }
}

const refusalOf = ({ statusCode = 0, headers }: IncomingMessage): LlmcError | undefined => {
  if (statusCode >= 300 && statusCode < 400) {
    return new LlmcError("provider_error", `The server sends callers elsewhere (${statusCode}).`, {
      hint: "Redirects are not followed; configure the address that it leads to.",
      retryable: false,
    });
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    return new LlmcError("provider_error", "The server's answer is compressed, which was not asked for.", {
      retryable: false,
    });
  }
  return undefined;
};

const BODILESS = new Set([204, 205, 304]);

/**
 * `fetch` for one server, under rules: one origin, no redirects, no compression, no proxy of the environment, a bound on
 * the answer. A connection is used once: one that the server closed in the meantime would fail a call that costs money.
 */
export const createOutbound =
  ({ origin, reach, maxResponseBytes }: OutboundRules): typeof fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const isName = !/^[\d.]+$/.test(host) && !host.includes(":");
    if (url.origin !== origin) {
      throw new LlmcError("egress_denied", "Only connections to the configured server are allowed.");
    }
    if (reach !== "anywhere" && !isName && !JUDGES[reach](host)) throw outOfReach(reach);
    const { method = "GET", body, signal } = init ?? {};
    if (body !== undefined && body !== null && typeof body !== "string") {
      throw new TypeError("only text is sent");
    }
    signal?.throwIfAborted();

    return new Promise<Response>((resolve, reject) => {
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const headers = { ...Object.fromEntries(new Headers(init?.headers)), "accept-encoding": "identity" };
      const request = send(url, {
        method,
        headers,
        agent: false,
        ...(reach === "anywhere" ? {} : { lookup: createReachLookup(reach, lookup) }),
      });
      const giveUp = (): void => {
        request.destroy(signal?.reason instanceof Error ? signal.reason : new Error("given up"));
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      request.once("close", () => {
        signal?.removeEventListener("abort", giveUp);
        // Whatever became of it: where there was an answer, this changes nothing.
        reject(new Error("The connection was closed before an answer came."));
      });
      request.on("error", reject);
      request.once("response", (message) => {
        const { statusCode = 0, statusMessage = "" } = message;
        // The body may still fail after its reader has gone.
        message.on("error", () => {});
        const refusal = refusalOf(message);
        if (refusal !== undefined) {
          request.destroy();
          return reject(refusal);
        }
        const stream = BODILESS.has(statusCode)
          ? null
          : (Readable.toWeb(Readable.from(bounded(message, maxResponseBytes))) as ReadableStream);
        try {
          resolve(
            new Response(stream, {
              status: statusCode,
              statusText: statusMessage.replace(/[^\x20-\x7e]/g, "?"),
              headers: headersOf(message),
            }),
          );
        } catch (error) {
          // A status or header that no answer may have.
          request.destroy();
          reject(error);
        }
      });
      request.end(body ?? undefined);
    });
  };
