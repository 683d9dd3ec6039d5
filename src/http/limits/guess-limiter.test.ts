import { describe, expect, test } from "vitest";
import { digestOf } from "../auth/token-registry.ts";
import { addressKey, createGuessLimiter } from "./guess-limiter.ts";

describe("FAIL-E1: wrong tokens of one address", () => {
  test("are bounded; the right to try comes back with time", () => {
    let ms = 0;
    const guesses = createGuessLimiter(
      () => ms,
      () => 30,
    );
    let tried = 0;
    for (let i = 0; i < 10_000; i++) {
      if (!guesses.check("10.0.0.1").allowed) continue;
      tried++;
      guesses.record("10.0.0.1", digestOf(`guess ${i}`));
    }
    expect(tried).toBe(30);
    expect(guesses.check("10.0.0.2").allowed).toBe(true);
    ms += 2000;
    expect(guesses.check("10.0.0.1").allowed).toBe(true);
  });

  test("FAIL-J9 of ten thousand addresses and more are kept in bounded memory", () => {
    const guesses = createGuessLimiter(
      () => 0,
      () => 30,
    );
    for (let i = 0; i < 30_000; i++)
      guesses.record(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, digestOf(`guess ${i}`));
    expect(guesses.count()).toBeLessThanOrEqual(10_000);
  });

  test("the same wrong token again is no guess", () => {
    const guesses = createGuessLimiter(
      () => 0,
      () => 2,
    );
    for (let i = 0; i < 100; i++) guesses.record("10.0.0.1", digestOf("stale"));
    expect(guesses.check("10.0.0.1").allowed).toBe(true);
    guesses.record("10.0.0.1", digestOf("other"));
    expect(guesses.check("10.0.0.1").allowed).toBe(false);
  });

  test.each([
    ["1.2.3.4", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["", ""],
  ])("%s counts as %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
