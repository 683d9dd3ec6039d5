import { createBuckets, type RateVerdict } from "./rate.ts";

const BLOCKS = 8;

/**
 * One attacker has a whole /64 of IPv6: all of it counts as one address. A mapped IPv4 address is that address.
 */
export const addressKey = (address: string): string => {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : new Array<string>(Math.max(0, BLOCKS - before.length - after.length)).fill("0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
};

/** Wrong tokens remembered, one for each of this many addresses. */
const MAX_REMEMBERED = 10_000;

/**
 * Bounds how many different tokens one address may try. The same wrong token again is no guess: a client with a stale
 * one that keeps knocking does not shut out its neighbours behind the same address.
 */
export const createGuesses = (now: () => number, perMinute: () => number) => {
  const buckets = createBuckets(now);
  const lastWrong = new Map<string, string>();
  const limit = () => ({ perSecond: perMinute() / 60, burst: perMinute() });
  return {
    /** Whether this address may try at all. */
    look: (address: string): RateVerdict => buckets.look(addressKey(address), limit()),
    record: (address: string, digest: Buffer): void => {
      const key = addressKey(address);
      const given = digest.toString("base64");
      if (lastWrong.get(key) === given) return;
      buckets.take(key, limit());
      lastWrong.delete(key);
      lastWrong.set(key, given);
      const [oldest] = lastWrong.keys();
      if (lastWrong.size > MAX_REMEMBERED && oldest !== undefined) lastWrong.delete(oldest);
    },
    /** Addresses that are remembered. */
    count: (): number => Math.max(buckets.count(), lastWrong.size),
  };
};

export type Guesses = ReturnType<typeof createGuesses>;
