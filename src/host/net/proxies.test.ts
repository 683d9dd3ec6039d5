import { describe, expect, test } from "vitest";
import { createProxies } from "./proxies.ts";

describe("FAIL-E1: proxies that are believed", () => {
  test("nobody, unless they are listed", () => {
    expect(createProxies([]).trusts("127.0.0.1")).toBe(false);
    const { trusts } = createProxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"]);
    expect(["127.0.0.1", "::ffff:127.0.0.1", "10.9.8.7", "fd00::1"].map(trusts)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(["127.0.0.2", "11.0.0.1", "fe80::1", "", "localhost"].map(trusts)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  test.each([
    "localhost",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "::/129",
    "",
    "loopback",
    "10.0.0.0/8x",
  ])("%j is no network", (entry) => {
    expect(() => createProxies([entry])).toThrow("trusted_proxies");
  });
});
