import { lookup } from "node:dns";
import { lookup as lookupAll } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../base/text.ts";
import { isPublicAddress } from "../../policy/egress.ts";
import { createJudgedLookup } from "./outbound.ts";

export interface DownloadRules {
  /** `host` or `host:port`: these may have an address that is not public. */
  readonly privateHosts: readonly string[];
  readonly maxBytes: number;
  /** For everything, redirects included. */
  readonly timeoutMs: number;
}

export interface Download {
  /** Where it came from in the end. */
  readonly url: string;
  readonly mediaType: string | undefined;
  readonly bytes: Buffer;
}

const MAX_REDIRECTS = 5;

const notPublic = (): LlmcError =>
  new LlmcError("egress_denied", "The address of the server is not a public one.", {
    hint: "The operator can list the host in mcp.kb.private_hosts, as HOST or HOST:PORT.",
  });

const failed = (message: string, hint?: string): LlmcError =>
  new LlmcError("unavailable", message, { ...(hint === undefined ? {} : { hint }) });

const lookupPublic = createJudgedLookup(lookup, isPublicAddress, notPublic);

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

const isPrivateAllowed = ({ host, hostname }: URL, { privateHosts }: DownloadRules): boolean =>
  privateHosts.includes(host) || privateHosts.includes(hostname);

/** Throws for what is not fetched, before any name is looked up. */
export const checkDownloadUrl = (address: string, rules: DownloadRules): URL => {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new LlmcError("invalid_args", "The address is neither http nor https.");
  if (url.username !== "" || url.password !== "")
    throw new LlmcError("invalid_args", "The address holds a name or password, which are not sent.");
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host) && !isPrivateAllowed(url, rules)) throw notPublic();
  return url;
};

/** The addresses of a server, looked up once and judged: whoever connects to these needs no names. */
export const judgedAddresses = async (url: URL, rules: DownloadRules): Promise<readonly string[]> => {
  const host = hostOf(url);
  const lookedUp = async () =>
    lookupAll(host, { all: true }).catch((cause: unknown) => {
      throw new LlmcError("unavailable", "The server's name is not known.", { cause });
    });
  const found = isIP(host) === 0 ? await lookedUp() : [{ address: host }];
  const addresses = found.map(({ address }) => address);
  if (addresses.length === 0 || (!isPrivateAllowed(url, rules) && !addresses.every(isPublicAddress)))
    throw notPublic();
  return addresses;
};

/** The same host, by the same or a safer protocol; another port would be another server. */
const redirectFrom = (from: URL, location: string | undefined, rules: DownloadRules): URL => {
  const to = URL.parse(location ?? "", from.href);
  if (to === null) throw failed("The server redirects to something that is not an address.");
  const isUpgrade =
    from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  if (to.hostname !== from.hostname || (to.origin !== from.origin && !isUpgrade))
    throw new LlmcError("egress_denied", "The server redirects to another host, which is not followed.", {
      hint: "Name the address that it leads to.",
    });
  return checkDownloadUrl(to.href, rules);
};

/**
 * Whether an answer came to its end. One that gives no length ends with its connection, and Node takes whatever closes that
 * for the end: a reset, and our own deadline, too.
 */
const isWhole = ({ complete, headers, socket }: IncomingMessage): boolean =>
  complete &&
  (headers["content-length"] !== undefined ||
    headers["transfer-encoding"] !== undefined ||
    socket.readableEnded);

const readBody = async (message: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const tooLarge = (): LlmcError =>
    new LlmcError("file_too_large", `The answer is longer than ${maxBytes} bytes.`);
  if (Number(message.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) throw tooLarge();
    parts.push(chunk as Buffer);
  }
  if (!isWhole(message)) throw failed("The server ended the answer too early.");
  return Buffer.concat(parts);
};

const open = (url: URL, rules: DownloadRules, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, {
      agent: false,
      signal,
      headers: { accept: "*/*", "accept-encoding": "identity", "user-agent": "llmc" },
      ...(isPrivateAllowed(url, rules) ? {} : { lookup: lookupPublic }),
    });
    request.once("response", resolve);
    request.once("error", reject);
    request.end();
  });

const follow = async (first: URL, rules: DownloadRules, signal: AbortSignal): Promise<Download> => {
  let url = first;
  for (let step = 0; step <= MAX_REDIRECTS; step++) {
    const message = await open(url, rules, signal);
    message.on("error", () => undefined);
    try {
      const { statusCode = 0, headers } = message;
      if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
        url = redirectFrom(url, headers.location, rules);
        continue;
      }
      if (statusCode !== 200)
        throw failed(`${quoteForMessage(url.href)}: the server answered with the status ${statusCode}.`);
      if ((headers["content-encoding"] ?? "identity") !== "identity")
        throw failed("The server's answer is compressed, which was not asked for.");
      return {
        url: url.href,
        mediaType: headers["content-type"],
        bytes: await readBody(message, rules.maxBytes),
      };
    } finally {
      message.destroy();
    }
  }
  throw failed(`The server redirects more than ${MAX_REDIRECTS} times.`);
};

/**
 * Gets one document from a server that may be hostile: no private addresses, judged after the name was looked up and before
 * a packet is sent; no redirects to other hosts; no compression, no cookies, no proxy of the environment; bounds on size and
 * time.
 */
export const download = async (
  address: string,
  rules: DownloadRules,
  signal?: AbortSignal,
): Promise<Download> => {
  stopIfAborted(signal);
  const url = checkDownloadUrl(address, rules);
  const deadline = AbortSignal.timeout(rules.timeoutMs);
  try {
    return await follow(url, rules, signal === undefined ? deadline : AbortSignal.any([deadline, signal]));
  } catch (thrown) {
    stopIfAborted(signal);
    if (deadline.aborted)
      throw new LlmcError("timeout", `The download took longer than ${rules.timeoutMs / 1000} s.`, {
        cause: thrown,
      });
    if (thrown instanceof LlmcError) throw thrown;
    throw new LlmcError(
      "unavailable",
      `${quoteForMessage(url.href)}: the server could not be reached, or broke off.`,
      { cause: thrown, hint: "Check the address, and that this machine reaches it without a proxy." },
    );
  }
};
