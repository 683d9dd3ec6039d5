import type { IncomingHttpHeaders } from "node:http";

interface Target {
  url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const ABSOLUTE = /^https?:\/\//i;

/**
 * The path of a request. A target in absolute form names its own host, which replaces the Host header (RFC 9112, 3.2.2),
 * so that the check of the host and the routes see the same target.
 */
export const targetOf = (request: Target): string => {
  const { url = "/", headers } = request;
  if (!ABSOLUTE.test(url) || !URL.canParse(url)) return url;
  const { host, pathname, search } = new URL(url);
  headers.host = host;
  return pathname + search;
};
