import type { IncomingMessage } from "node:http";

export interface Proxies {
  trusts(address: string): boolean;
  /** The address in a hop of X-Forwarded-For, in canonical form; undefined if it is not an address. */
  parse(hop: string): string | undefined;
}

/**
 * The address of the client: the peer's or, behind trusted proxies, the first untrusted hop of X-Forwarded-For counted
 * from the end. A hop that is not an address makes it the peer's again, so that invented hops do not count as new
 * addresses.
 */
export const clientAddress = (
  peer: string,
  { headers }: Pick<IncomingMessage, "headers">,
  { trusts, parse }: Proxies,
): string => {
  const forwarded = headers["x-forwarded-for"];
  if (forwarded === undefined || !trusts(peer)) return peer;
  const hops = [forwarded]
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
