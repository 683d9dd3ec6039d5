import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideEgress, isFreeOfCharge, isLoopbackAddress } from "./egress.ts";

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
    expect(decideEgress({ ...BASE, baseUrl })).toEqual({ allowed: true, loopbackOnly: true });
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
      loopbackOnly: false,
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

  test("only Ollama on this machine is known to cost nothing", () => {
    expect(isFreeOfCharge("ollama/a", "http://localhost:11434")).toBe(true);
    expect(isFreeOfCharge("ollama/a", "http://[::1]:11434")).toBe(true);
    expect(isFreeOfCharge("ollama/a", "http://10.0.0.5")).toBe(false);
    expect(isFreeOfCharge("openai/a", "http://127.0.0.1:4000/v1")).toBe(false);
    expect(isFreeOfCharge("ollama/a", "nonsense")).toBe(false);
  });
});
