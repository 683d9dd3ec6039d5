import type { IncomingMessage } from "node:http";

/** The address of the peer; through proxies that are believed, of whoever the first of the others says it is. */
export const addressOf = (
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  trusts: (address: string) => boolean,
): string => {
  const peer = socket.remoteAddress ?? "";
  const named = headers["x-forwarded-for"];
  if (named === undefined) return peer;
  const hops = [...[named].flat().join(",").split(","), peer]
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
  let at = hops.length - 1;
  while (at > 0 && trusts(hops[at] ?? "")) at--;
  return hops[at] ?? "";
};
