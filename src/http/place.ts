import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import { LlmcError } from "../base/error.ts";
import type { AuthSettings } from "./auth.ts";
import { MalformedRequest } from "./refusals.ts";

interface PlaceParts {
  readonly auth: () => AuthSettings;
  /** Names accepted in Host and Origin, beside loopback. */
  readonly allowedHosts: readonly string[];
  readonly scheme: "http" | "https";
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/** Headers that decide who is served. Node keeps the first of two, a proxy may have judged the second. */
const SAID_ONCE = new Set([
  "host",
  "origin",
  "authorization",
  "content-type",
  "content-length",
  "transfer-encoding",
  "mcp-session-id",
  "sec-fetch-site",
]);

/** What a browser says of a request that another site's page, or one of another port of this machine, has made. */
const FOREIGN_SITES = new Set(["cross-site", "same-site"]);

/** `tokenHeader` in small letters. Looks at what came: Node has joined or dropped repetitions in its own view of it. */
const refuseRepeated = (rawHeaders: readonly string[], tokenHeader: string): void => {
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? "").toLowerCase();
    if (!SAID_ONCE.has(name) && name !== tokenHeader) continue;
    if (seen.includes(name)) throw new MalformedRequest(`The header ${name} came more than once.`);
    seen.push(name);
  }
};

const wrongHost = (): LlmcError =>
  new LlmcError("forbidden", "This Host is not served here.", {
    hint: "Use the address that the server printed, or add the name to mcp.server.allowed_hosts.",
  });

const wrongOrigin = (): LlmcError =>
  new LlmcError("forbidden", "Pages of this origin may not use the server.", {
    hint: "Add its host name to mcp.server.allowed_hosts to let them.",
  });

/**
 * Refuses pages of other sites that reach us by name (DNS rebinding), by form or by script. Where no token is asked for,
 * nothing but the origin tells our own page from that of another program on this machine, so it must be exactly ours.
 */
export const createPlaceCheck = ({ auth, allowedHosts, scheme }: PlaceParts) => {
  const names = [...LOOPBACK_NAMES, ...allowedHosts];
  /** Headers that were found good; a client sends the same ones with every request. */
  let good: Readonly<Pick<IncomingHttpHeaders, "host" | "origin">> | undefined;

  const checkOpenDoor = ({ host, origin, "sec-fetch-site": site }: IncomingHttpHeaders): void => {
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
    if (good === undefined || host !== good.host || origin !== good.origin) {
      if (!validateHostHeader(host, names).ok) throw wrongHost();
      if (!validateOriginHeader(origin, names).ok) throw wrongOrigin();
      good = { host, origin };
    }
    if (mode === "none") checkOpenDoor(headers);
  };
};
