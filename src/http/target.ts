import type { IncomingHttpHeaders } from "node:http";

interface Target {
  url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const ABSOLUTE = /^https?:\/\//i;

/**
 * The path that a request asks for. One in absolute form names its host in the target, which then counts instead of
 * the Host header (RFC 9112, 3.2.2): both the check of the host and the routes see what was really asked for.
 */
export const targetOf = (request: Target): string => {
  const { url = "/", headers } = request;
  if (!ABSOLUTE.test(url) || !URL.canParse(url)) return url;
  const { host, pathname, search } = new URL(url);
  headers.host = host;
  return pathname + search;
};
