import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { createProxies } from "../../host/net/proxies.ts";
import { clientAddress } from "./client-address.ts";

const requestFrom = (forwarded?: string | string[]) =>
  ({ headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } }) as unknown as Pick<
    IncomingMessage,
    "headers"
  >;

const PROXIES = new Set(["10.0.0.1", "10.0.0.2"]);
const { parse } = createProxies([]);
const trusts = (address: string): boolean => PROXIES.has(address);

describe("FAIL-E1: the address that guesses are counted by", () => {
  test.each([
    ["no header", "1.1.1.1", undefined, "1.1.1.1"],
    ["a header of a stranger is not believed", "1.1.1.1", "2.2.2.2", "1.1.1.1"],
    ["one of a proxy is", "10.0.0.1", "2.2.2.2", "2.2.2.2"],
    ["what a client told the proxy is not", "10.0.0.1", "6.6.6.6, 2.2.2.2", "2.2.2.2"],
    ["proxies in a row are passed over", "10.0.0.1", "2.2.2.2, 10.0.0.2", "2.2.2.2"],
    ["the farthest, where all are proxies", "10.0.0.1", "10.0.0.2, 10.0.0.1", "10.0.0.2"],
    ["several headers are one list", "10.0.0.1", ["6.6.6.6", "2.2.2.2"], "2.2.2.2"],
    ["an empty header names nobody", "10.0.0.1", " , ,", "10.0.0.1"],
    ["a proxy that says nothing", "10.0.0.1", undefined, "10.0.0.1"],
    ["ports are left out", "10.0.0.1", "2.2.2.2:41000", "2.2.2.2"],
    ["and brackets", "10.0.0.1", "[2001:DB8:0:0::1]:443", "2001:db8::1"],
    ["one address has one text", "10.0.0.1", "2001:0db8:0000::0001", "2001:db8::1"],
    ["a mapped address is that address", "10.0.0.1", "::ffff:2.2.2.2", "2.2.2.2"],
    ["FAIL-J9 a made-up name is nobody's", "10.0.0.1", "guess-17", "10.0.0.1"],
    ["FAIL-J9 nor is one behind an address", "10.0.0.1", "2.2.2.2, unknown", "10.0.0.1"],
    ["FAIL-J9 nor an address and more", "10.0.0.1", "2.2.2.2 x", "10.0.0.1"],
    ["FAIL-J9 nor one in other digits", "10.0.0.1", "0x7f.1", "10.0.0.1"],
  ])("%s", (_title, peer, forwarded, address) => {
    expect(clientAddress(peer, requestFrom(forwarded), { trusts, parse })).toBe(address);
  });
});
