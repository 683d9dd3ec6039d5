import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";

/** Some kernels put these into every new namespace. They are down, and a process inside cannot bring them up. */
const FALLBACK_TUNNEL = /^(?:tunl|gre|gretap|erspan|ip_vti|ip6_vti|sit|ip6tnl|ip6gre)0$/;

/** Whether this process has no network but its own loopback. */
export const isAirGapped = (): boolean => {
  try {
    const [, , ...lines] = readFileSync("/proc/self/net/dev", "utf8").trim().split("\n");
    const devices = lines.map((line) => line.trim().split(":", 1)[0] ?? "");
    return (
      devices.every((name) => name === "lo" || FALLBACK_TUNNEL.test(name)) &&
      Object.keys(networkInterfaces()).every((name) => name === "lo")
    );
  } catch {
    return false;
  }
};
