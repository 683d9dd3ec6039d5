import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { authenticate } from "./authenticate.ts";
import { digestOf, findToken, resolveTokens } from "./token-registry.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const AUTH = { mode: "token", header: "X-LLMC-Token" } as const;

describe("REQ-H2: tokens", () => {
  test("the plain one may do everything, named ones what their scopes say", () => {
    const { tokens, problems } = resolveTokens({
      defaultSecret: "one",
      entries: ["ci read,execute env:CI", `bot read sha256:${sha("three")}`, "root admin env:CI2"],
      env: { CI: "two", CI2: "four" },
    });
    expect(problems).toEqual([]);
    const who = (secret: string) => {
      const found = authenticate({ "x-llmc-token": secret }, AUTH, tokens);
      return found.kind === "known" ? [found.identity.name, [...found.identity.scopes].join()] : found.kind;
    };
    expect(who("one")).toEqual(["default", "read,write,execute,egress,metrics,admin"]);
    expect(who("two")).toEqual(["ci", "read,execute"]);
    expect(who("three")).toEqual(["bot", "read"]);
    expect(who("four")).toEqual(["root", "read,write,execute,egress,metrics,admin"]);
    expect(who("five")).toBe("wrong");
    expect(who(sha("three"))).toBe("wrong");
  });

  test("REQ-D25 a principal is the name and the secret together, and does not give the secret away", () => {
    const principals = (ci: string) =>
      resolveTokens({ defaultSecret: "one", entries: ["ci read env:CI"], env: { CI: ci } }).tokens.map(
        ({ principal }) => principal,
      );
    expect(principals("two")).toEqual(principals("two"));
    expect(principals("two")[0]).toBe(principals("three")[0]);
    expect(principals("two")[1]).not.toBe(principals("three")[1]);
    expect(new Set([...principals("one"), "anonymous", "local"]).size).toBe(4);
    expect(principals("two").join()).not.toContain(sha("two"));
  });

  test("an empty or missing secret opens nothing, and is said", () => {
    const { tokens, problems } = resolveTokens({
      defaultSecret: "",
      entries: ["ci read env:CI", "other read env:EMPTY"],
      env: { EMPTY: "" },
    });
    expect(tokens).toEqual([]);
    expect(problems).toEqual([
      "mcp.auth.tokens: ci has no token, because CI is not set",
      "mcp.auth.tokens: other has no token, because EMPTY is not set",
    ]);
    expect(authenticate({ "x-llmc-token": "" }, AUTH, tokens).kind).toBe("wrong");
  });

  test.each(["default", "anonymous", "twice"])("the name %s is not given a second time", (name) => {
    const entry = `${name} read sha256:${sha("x")}`;
    const { problems } = resolveTokens({
      defaultSecret: "one",
      entries: [`twice read sha256:${sha("y")}`, entry],
      env: {},
    });
    expect(problems).toEqual([`mcp.auth.tokens: the name ${name} is already taken`]);
  });

  test.each([
    [{ authorization: "Bearer s3cret" }, "known"],
    [{ authorization: "bearer s3cret" }, "known"],
    [{ authorization: "Basic s3cret" }, "missing"],
    [{ authorization: "s3cret" }, "missing"],
    [{ "x-llmc-token": "s3cret" }, "known"],
    [{ "x-other": "s3cret" }, "missing"],
    [{ "x-llmc-token": "wrong", authorization: "Bearer s3cret" }, "wrong"],
    [{}, "missing"],
  ])("%j is %s", (headers, kind) => {
    const { tokens } = resolveTokens({ defaultSecret: "s3cret", entries: [], env: {} });
    expect(authenticate(headers, AUTH, tokens).kind).toBe(kind);
  });

  test("the header may be configured anew, in any case of letters", () => {
    const { tokens } = resolveTokens({ defaultSecret: "s3cret", entries: [], env: {} });
    for (const header of ["X-LLMC-Token", "X-Other", "x-other", "X-LLMC-Token"]) {
      const headers = { [header.toLowerCase()]: "s3cret" };
      expect(authenticate(headers, { mode: "token", header }, tokens).kind, header).toBe("known");
      expect(authenticate({ "x-third": "s3cret" }, { mode: "token", header }, tokens).kind).toBe("missing");
    }
  });

  test("as the configured header, Authorization carries the token with its scheme or alone", () => {
    const { tokens } = resolveTokens({ defaultSecret: "s3cret", entries: [], env: {} });
    const settings = { mode: "token", header: "Authorization" } as const;
    for (const authorization of ["Bearer s3cret", "bearer s3cret", "s3cret"])
      expect(authenticate({ authorization }, settings, tokens).kind, authorization).toBe("known");
    for (const authorization of ["Bearer wrong", "Basic s3cret"])
      expect(authenticate({ authorization }, settings, tokens).kind, authorization).toBe("wrong");
  });

  test("a digest is that of the secret's UTF-8 bytes, whatever they are", () => {
    const secrets = ["s3cret", "", "pässwörd", "秘密😀", "x".repeat(5000), "\u0000\u00ff"];
    for (const secret of secrets) {
      expect(digestOf(secret).toString("hex")).toBe(sha(secret));
      const { tokens } = resolveTokens({
        defaultSecret: undefined,
        entries: [`a read sha256:${sha(secret)}`],
        env: {},
      });
      expect(findToken(tokens, secret)).toBe(tokens[0]);
      expect(findToken(tokens, `${secret}x`)).toBeUndefined();
      expect(findToken(tokens, secret.slice(0, -1))).toBe(secret === "" ? tokens[0] : undefined);
    }
  });

  test("a token that is taken out of the configuration opens nothing any more, though it did a moment ago", () => {
    const entries = [`bot read sha256:${sha("old")}`];
    const before = resolveTokens({ defaultSecret: "one", entries, env: {} }).tokens;
    const after = resolveTokens({
      defaultSecret: "one",
      entries: [`bot read sha256:${sha("new")}`],
      env: {},
    }).tokens;
    expect(findToken(before, "old")?.name).toBe("bot");
    expect(findToken(after, "old")).toBeUndefined();
    expect(findToken(after, "new")?.name).toBe("bot");
    expect(findToken([], "one")).toBeUndefined();
  });

  test("no secret is kept", () => {
    const { tokens } = resolveTokens({ defaultSecret: "s3cret-s3cret", entries: [], env: {} });
    expect(JSON.stringify(tokens)).not.toContain("s3cret");
    expect(tokens[0]?.digest.equals(digestOf("s3cret-s3cret"))).toBe(true);
  });
});
