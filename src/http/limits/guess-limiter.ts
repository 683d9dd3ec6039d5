import { createTokenBuckets, type RateDecision } from "./rate-limiter.ts";

const IPV6_GROUPS = 8;

/** One attacker controls a whole /64 of IPv6, so all of it counts as one address. A mapped IPv4 address is unwrapped. */
export const addressKey = (address: string): string => {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined
      ? []
      : new Array<string>(Math.max(0, IPV6_GROUPS - before.length - after.length)).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
};

/** Addresses whose last wrong token is remembered. */
const MAX_ADDRESSES = 10_000;

/**
 * Limits how many different wrong tokens one address may try. The same wrong token again does not count: a client that
 * keeps sending an old one must not use up the attempts of its neighbours behind the same address.
 */
export const createGuessLimiter = (now: () => number, perMinute: () => number) => {
  const buckets = createTokenBuckets(now);
  const lastWrong = new Map<string, string>();
  const limit = () => ({ perSecond: perMinute() / 60, burst: perMinute() });
  return {
    /** Whether this address may try another token. */
    check: (address: string): RateDecision => buckets.peek(addressKey(address), limit()),
    record: (address: string, digest: Buffer): void => {
      const key = addressKey(address);
      const sent = digest.toString("base64");
      if (lastWrong.get(key) === sent) return;
      buckets.consume(key, limit());
      lastWrong.delete(key);
      lastWrong.set(key, sent);
      const [oldest] = lastWrong.keys();
      if (lastWrong.size > MAX_ADDRESSES && oldest !== undefined) lastWrong.delete(oldest);
    },
    /** Addresses that are remembered. */
    count: (): number => Math.max(buckets.count(), lastWrong.size),
  };
};

export type GuessLimiter = ReturnType<typeof createGuessLimiter>;
