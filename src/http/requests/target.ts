interface Target {
  readonly path: string;
  /** The host that a target in absolute form names; it replaces the Host header (RFC 9112, 3.2.2). */
  readonly host?: string;
}

const ABSOLUTE = /^https?:\/\//i;

/** What a request names in its first line. */
export const parseTarget = (url = "/"): Target => {
  if (!ABSOLUTE.test(url) || !URL.canParse(url)) return { path: url };
  const { host, pathname, search } = new URL(url);
  return { path: pathname + search, host };
};
