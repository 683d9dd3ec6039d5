import type { IncomingMessage } from "node:http";

/** Which addresses are proxies that are believed, and how an address is written. */
export interface Proxies {
  trusts(address: string): boolean;
  /** The address in a hop of X-Forwarded-For, in its one canonical form; undefined for anything else. */
  parse(hop: string): string | undefined;
}

/**
 * The address of the peer; through proxies that are believed, of whoever the first of the others says it is. What is
 * not an address names nobody: then it is the peer's again, so that a made-up name never counts as a new address.
 */
export const addressOf = (
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  { trusts, parse }: Proxies,
): string => {
  const peer = socket.remoteAddress ?? "";
  const named = headers["x-forwarded-for"];
  if (named === undefined || !trusts(peer)) return peer;
  const hops = [named]
    .flat()
    .join(",")
    .split(",")
    .filter((hop) => hop.trim() !== "");
  let address = peer;
  for (const hop of hops.reverse()) {
    const parsed = parse(hop.trim());
    if (parsed === undefined) return peer;
    address = parsed;
    if (!trusts(address)) break;
  }
  return address;
};
