import { BlockList, isIP, SocketAddress } from "node:net";
import { LlmcError } from "../../base/error.ts";

const LONGEST_PREFIX = { 4: 32, 6: 128 } as const;

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/;

/**
 * The address in what a proxy wrote: `1.2.3.4`, `1.2.3.4:5678`, `2001:db8::1`, `[2001:db8::1]:5678`. Always the same text
 * for the same address; undefined for anything else.
 */
const parseAddress = (written: string): string | undefined => {
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(written)?.[1] ??
    /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(written)?.[1] ??
    written;
  const [address = ""] = bare.split("%", 1);
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return address;
  return new SocketAddress({ address, family: "ipv6" }).address.toLowerCase().replace(MAPPED, "");
};

/** Which addresses are proxies of ours: single ones, or networks such as `10.0.0.0/8`. An empty list trusts nobody. */
export const createProxies = (entries: readonly string[]) => {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const version = isIP(address);
    const longest = version === 0 ? 0 : LONGEST_PREFIX[version as 4 | 6];
    const bits = prefix === undefined ? longest : Number(prefix);
    if (version === 0 || !Number.isInteger(bits) || bits < 0 || bits > longest || prefix === "") {
      throw new LlmcError("config_invalid", "mcp.server.trusted_proxies: expected addresses or networks.", {
        hint: 'Such as "127.0.0.1" or "10.0.0.0/8".',
      });
    }
    list.addSubnet(address, bits, version === 4 ? "ipv4" : "ipv6");
  }
  return {
    trusts: (address: string): boolean => {
      const plain = parseAddress(address);
      return plain !== undefined && list.check(plain, isIP(plain) === 4 ? "ipv4" : "ipv6");
    },
    parse: parseAddress,
  };
};
