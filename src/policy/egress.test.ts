import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decideEgress,
  decideUnknownEgress,
  isFreeOfCharge,
  isLoopbackAddress,
  isPrivateAddress,
  isPublicAddress,
} from "./egress.ts";

const BASE = {
  profile: "restricted",
  allowedModelPrefixes: [],
  model: "ollama_chat/qwen3:8b",
  baseUrl: "http://127.0.0.1:11434",
} as const;

describe("where models may be", () => {
  test.each([{ model: "anthropic/x", baseUrl: "https://api.anthropic.com" }, { baseUrl: "http://10.0.0.5" }])(
    "REQ-D27: a refusal of the profile names the line to write: %j",
    (facts) => {
      expect(decideEgress({ ...BASE, ...facts })).toMatchObject({
        allowed: false,
        hint: expect.stringContaining('write profile = "unrestricted" under [mcp.rlm]'),
      });
    },
  );

  test.each([
    "http://127.0.0.1:11434",
    "http://127.1.2.3",
    "http://[::1]:11434",
    "http://[::ffff:127.0.0.1]",
    "http://[0:0:0:0:0:0:0:1]",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    // Judged once more by what it stands for, when that is known.
    "http://localhost:11434",
    "http://ollama.localhost",
  ])("REQ-L2: restricted lets %s pass, as loopback only", (baseUrl) => {
    expect(decideEgress({ ...BASE, baseUrl })).toEqual({ allowed: true, reach: "loopback" });
  });

  test.each([
    "http://10.0.0.5:11434",
    "http://192.168.0.1",
    "http://3232235777/",
    "http://0300.0250.1.1/",
    "http://8.8.8.8",
    "http://0.0.0.0:11434",
    "http://0/",
    "http://[::]:11434",
    "http://[::2]",
    "http://[fe80::1]",
    "http://[::ffff:10.0.0.1]",
    "http://[::ffff:8.8.8.8]",
    "http://128.0.0.1",
    "http://126.255.255.255",
    "https://[2606:4700::1]/v1",
    // Looking a name up would already tell others of it.
    "http://models.example",
    "http://localhost.example",
    "http://notlocalhost",
    "https://api.openai.com/v1",
  ])("REQ-L2 FAIL-G5: restricted refuses %s, and says how to go on", (baseUrl) => {
    expect(decideEgress({ ...BASE, baseUrl })).toEqual({
      allowed: false,
      reason: expect.stringContaining('mcp.rlm.profile is "restricted"'),
      hint: expect.any(String),
    });
    expect(decideEgress({ ...BASE, baseUrl, profile: "unrestricted" })).toEqual({
      allowed: true,
      reach: "anywhere",
    });
  });

  test.each(["anthropic/claude", "gemini/flash", "elsewhere/x", "", "ollama_chatty/x"])(
    "REQ-L2: restricted refuses %j, whose server is never here, even on loopback",
    (model) => {
      expect(decideEgress({ ...BASE, model }).allowed).toBe(false);
    },
  );

  test.each([
    "ollama_chat/gpt-oss:120b-cloud",
    "ollama/kimi-k2:cloud",
    "ollama_chat/x-Cloud",
    "openai/gpt-oss:120b-cloud",
  ])("REQ-L2: restricted refuses %s, which a local Ollama passes on to its cloud", (model) => {
    expect(decideEgress({ ...BASE, model }).allowed).toBe(false);
    expect(decideEgress({ ...BASE, model, profile: "unrestricted" }).allowed).toBe(true);
    expect(isFreeOfCharge(model, BASE.baseUrl)).toBe(false);
  });

  test.each([
    [["ollama_chat/"], "ollama_chat/a", true],
    [["ollama_chat/"], "ollama/a", false],
    [["openai/", "ollama/"], "ollama/a", true],
    [["OLLAMA/"], "ollama/a", false],
    [[""], "ollama/a", false],
    [["", "ollama/"], "ollama/a", true],
    [[], "ollama/a", true],
  ])("REQ-L2: the prefixes %j on %s: %s", (allowedModelPrefixes, model, allowed) => {
    for (const profile of ["restricted", "unrestricted"] as const) {
      expect(decideEgress({ ...BASE, profile, allowedModelPrefixes, model }).allowed).toBe(allowed);
    }
  });

  test.each([
    "http://user:secret@127.0.0.1",
    "http://user@127.0.0.1",
    "http://127.0.0.1@evil.example",
    "ftp://127.0.0.1",
    "file:///etc/passwd",
    "127.0.0.1:11434",
    "",
    "http://",
  ])("REQ-L2: %j is no address of a server, and is not repeated", (baseUrl) => {
    for (const profile of ["restricted", "unrestricted"] as const) {
      const decision = decideEgress({ ...BASE, profile, baseUrl });
      expect(decision.allowed).toBe(false);
      expect(JSON.stringify(decision)).not.toContain("secret");
    }
  });

  test("loopback is 127.0.0.0/8 and ::1, in any spelling, and nothing else", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isLoopbackAddress(address)).toBe(address.startsWith("127."));
        expect(isLoopbackAddress(`::ffff:${address}`)).toBe(address.startsWith("127."));
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const host = new URL(`http://[${address}]/`).hostname;
        const expected = host === "[::1]" || /^\[::ffff:7f..:[0-9a-f]+\]$/.test(host);
        expect(isLoopbackAddress(address)).toBe(expected);
      }),
    );
    for (const word of ["", "localhost", "127.0.0.1.example", "::1%lo", "127.0.0.1/8", "127.0.0.1@8.8.8.8"]) {
      expect(isLoopbackAddress(word)).toBe(false);
    }
  });

  test("REQ-L9: what runs on this machine costs nothing, by its address; clouds behind a proxy there do", () => {
    expect(isFreeOfCharge("ollama/a", "http://localhost:11434")).toBe(true);
    expect(isFreeOfCharge("ollama/a", "http://[::1]:11434")).toBe(true);
    expect(isFreeOfCharge("ollama/a", "http://10.0.0.5")).toBe(false);
    expect(isFreeOfCharge("openai/a", "http://127.0.0.1:4000/v1")).toBe(false);
    expect(isFreeOfCharge("openai/a", "https://api.openai.com/v1")).toBe(false);
    expect(isFreeOfCharge("anthropic/a", "http://127.0.0.1:4000")).toBe(false);
    expect(isFreeOfCharge("gemini/a", "http://localhost:4000")).toBe(false);
    expect(isFreeOfCharge("ollama/a", "nonsense")).toBe(false);
  });

  test("REQ-L2 FAIL-G5: in the restricted profile a listed host may be used, and only by a private address", () => {
    const at = (baseUrl: string, privateHosts: readonly string[]) =>
      decideEgress({ ...BASE, baseUrl, privateHosts });
    expect(at("http://gpu.ward.lan:8000/v1", ["GPU.ward.lan"])).toEqual({ allowed: true, reach: "private" });
    expect(at("http://10.1.2.3:8000/v1", ["10.1.2.3"])).toEqual({ allowed: true, reach: "private" });
    expect(at("http://other.lan/v1", ["gpu.ward.lan"])).toMatchObject({
      allowed: false,
      hint: expect.stringContaining("mcp.rlm.private_hosts"),
    });
    expect(at("http://xgpu.ward.lan/v1", ["gpu.ward.lan"]).allowed).toBe(false);
    for (const address of [
      "10.0.0.1",
      "192.168.7.7",
      "172.16.0.1",
      "172.31.9.9",
      "fd12::1",
      "::ffff:10.0.0.1",
    ])
      expect(isPrivateAddress(address), address).toBe(true);
    for (const address of [
      "8.8.8.8",
      "172.32.0.1",
      "11.0.0.1",
      "2001:db8::1",
      "::ffff:8.8.8.8",
      "fe80::1",
      "x",
    ])
      expect(isPrivateAddress(address), address).toBe(false);
  });
});

describe("REQ-K1 public addresses", () => {
  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "2606:4700::1",
    "2a00:1450::8a",
    "::ffff:8.8.8.8",
    "100.128.0.1",
  ])("%s is one", (address) => expect(isPublicAddress(address)).toBe(true));

  test.each([
    "127.0.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.19.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "2130706433",
    "0x7f.1",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "fe80::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "localhost",
    "example.org",
    "",
  ])("%s is none", (address) => expect(isPublicAddress(address)).toBe(false));
});

describe("models of which nobody knows where they run", () => {
  const decide = (more: object) =>
    decideUnknownEgress({
      profile: "unrestricted",
      allowedModelPrefixes: [],
      model: "sampling/client",
      ...more,
    });

  test("REQ-L2: refused in the air gap, in the restricted profile and where they are not listed, each with its reason", () => {
    expect(decide({})).toEqual({ allowed: true, reach: "anywhere" });
    expect(decide({ isAirGapped: true })).toMatchObject({
      allowed: false,
      reason: expect.stringContaining("air_gapped_mode"),
    });
    expect(decide({ profile: "restricted" })).toMatchObject({
      allowed: false,
      reason: expect.stringContaining("restricted"),
    });
    expect(decide({ allowedModelPrefixes: ["openai/"] })).toMatchObject({
      allowed: false,
      reason: expect.not.stringContaining("restricted"),
    });
    expect(decide({ allowedModelPrefixes: ["sampling/"] })).toMatchObject({ allowed: true });
  });
});
