import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import { LlmcError } from "../../base/error.ts";
import type { AuthSettings } from "../auth/authenticate.ts";
import { MalformedRequest } from "../requests/errors.ts";

interface CheckParts {
  readonly auth: () => AuthSettings;
  /** Host names accepted in Host and Origin, in addition to loopback. */
  readonly allowedHosts: readonly string[];
  readonly scheme: "http" | "https";
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/** Headers that decide who is served. If one comes twice, Node uses the first, but a proxy may have checked the second. */
const SINGLE_HEADERS = new Set([
  ...["host", "origin", "authorization", "content-type", "content-length"],
  ...["transfer-encoding", "mcp-session-id", "sec-fetch-site"],
]);

/** Values of Sec-Fetch-Site that a browser sends for pages of another site, or of another port of this machine. */
const FOREIGN_SITES = new Set(["cross-site", "same-site"]);

/** Reads the raw headers, because Node has already joined or dropped repetitions in `headers`. */
const refuseRepeated = (rawHeaders: readonly string[], tokenHeader: string): void => {
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? "").toLowerCase();
    if (!SINGLE_HEADERS.has(name) && name !== tokenHeader) continue;
    if (seen.includes(name)) throw new MalformedRequest(`The header ${name} came more than once.`);
    seen.push(name);
  }
};

const wrongHost = (): LlmcError =>
  new LlmcError("forbidden", "This server does not serve the given Host.", {
    hint: "Use the address that the server printed, or add the name to mcp.server.allowed_hosts.",
  });

const wrongOrigin = (): LlmcError =>
  new LlmcError("forbidden", "Pages of this origin may not use the server.", {
    hint: "To allow them, add the host name of the origin to mcp.server.allowed_hosts.",
  });

/**
 * Refuses requests that pages of other sites make through DNS rebinding, forms or scripts. Without a token only the
 * origin tells our own page from that of another program on this machine, so then it must be exactly ours.
 */
export const createHostAndOriginCheck = ({ auth, allowedHosts, scheme }: CheckParts) => {
  const names = [...LOOPBACK_NAMES, ...allowedHosts];

  const checkOwnOrigin = ({ host, origin, "sec-fetch-site": site }: IncomingHttpHeaders): void => {
    if (origin !== undefined) {
      if (origin === `${scheme}://${host}`) return;
      if (origin === "" || !validateOriginHeader(origin, [...allowedHosts]).ok) throw wrongOrigin();
      return;
    }
    if (typeof site === "string" && FOREIGN_SITES.has(site.toLowerCase())) throw wrongOrigin();
  };

  return ({ headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">): void => {
    const { mode, header } = auth();
    const { host, origin } = headers;
    refuseRepeated(rawHeaders, header.toLowerCase());
    if (!validateHostHeader(host, names).ok) throw wrongHost();
    if (!validateOriginHeader(origin, names).ok) throw wrongOrigin();
    if (mode === "none") checkOwnOrigin(headers);
  };
};
