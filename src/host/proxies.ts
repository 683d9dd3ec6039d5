import { BlockList, isIP } from "node:net";
import { LlmcError } from "../base/error.ts";

const LONGEST_PREFIX = { 4: 32, 6: 128 } as const;

/** Which addresses are proxies of ours: single ones, or networks such as `10.0.0.0/8`. An empty list trusts nobody. */
export const createProxyTrust = (entries: readonly string[]): ((address: string) => boolean) => {
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
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 4 ? "ipv4" : "ipv6");
  };
};
