import { isIP, isIPv4 } from "node:net";
import { LlmcError } from "../../base/error.ts";

/** A server on this machine that the operator configured: a model, PostgreSQL, Redis. */
export interface Backend {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK: Readonly<Record<string, readonly string[]>> = { localhost: ["127.0.0.1", "::1"] };

const isLoopback = (address: string): boolean =>
  isIPv4(address) ? address.startsWith("127.") : address === "::1";

/**
 * The addresses of a backend. Names are not asked for: one that looks local may lead anywhere, and in an air gap there is
 * nobody to ask.
 */
export const backendAddresses = ({ host, port }: Backend): readonly string[] => {
  const plain = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const addresses = LOOPBACK[plain] ?? (isIP(plain) !== 0 && isLoopback(plain) ? [plain] : []);
  if (addresses.length === 0)
    throw new LlmcError("egress_denied", `${host}:${port} cannot be reached in air-gapped mode.`, {
      hint: "Only servers on this machine can: localhost, 127.0.0.1 or [::1].",
    });
  return addresses;
};

/** The name of a backend's socket in the folder that both sides share. */
export const socketName = (index: number): string => `${index}.sock`;
