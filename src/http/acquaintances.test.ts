import { describe, expect, test } from "vitest";
import { createAcquaintances } from "./acquaintances.ts";
import { resolveTokens, type Token } from "./tokens.ts";

const tokensOf = (secrets: Readonly<Record<string, string>>): readonly Token[] =>
  resolveTokens({
    plain: undefined,
    entries: Object.keys(secrets).map((name) => `${name} read env:${name}`),
    env: secrets,
  }).tokens;

describe("REQ-H2: a connection that has shown its token", () => {
  test("is known by it, and by nothing that is nearly the same", () => {
    const acquaintances = createAcquaintances();
    const tokens = tokensOf({ ann: "s3cret", bob: "s3cret-of-bob" });
    const connection = {};
    const near = ["", "s3cre", "s3cret-", "S3cret", "s3cret\u0000", "x3cret", "s3creT", "s3cret-of-bo"];
    for (const wrong of [...near, ...near]) {
      expect(acquaintances.find(connection, tokens, "s3cret")?.name).toBe("ann");
      expect(acquaintances.find(connection, tokens, wrong), wrong).toBeUndefined();
    }
  });

  test("may show another, of its own or of a stranger behind the same proxy", () => {
    const acquaintances = createAcquaintances();
    const tokens = tokensOf({ ann: "one", bob: "two" });
    const connection = {};
    for (const [secret, name] of [
      ["one", "ann"],
      ["two", "bob"],
      ["two", "bob"],
      ["three", undefined],
      ["one", "ann"],
    ] as const) {
      expect(acquaintances.find(connection, tokens, secret)?.name).toBe(name);
    }
    expect(acquaintances.find({}, tokens, "three")).toBeUndefined();
  });

  test("FAIL-E1: is a stranger again when its token is taken away", () => {
    const acquaintances = createAcquaintances();
    const connection = {};
    const before = tokensOf({ ann: "one", bob: "two" });
    expect(acquaintances.find(connection, before, "one")?.name).toBe("ann");
    expect(acquaintances.find(connection, tokensOf({ bob: "two" }), "one")).toBeUndefined();
    expect(acquaintances.find(connection, [], "one")).toBeUndefined();
  });

  test("has the scopes that are in force now", () => {
    const acquaintances = createAcquaintances();
    const connection = {};
    const scopes = (list: string) => {
      const { tokens } = resolveTokens({ plain: undefined, entries: [`a ${list} env:A`], env: { A: "one" } });
      return [...(acquaintances.find(connection, tokens, "one")?.scopes ?? [])];
    };
    expect(scopes("read,write")).toEqual(["read", "write"]);
    expect(scopes("read")).toEqual(["read"]);
  });

  test("secrets of any length and letters are told apart to the last byte", () => {
    const acquaintances = createAcquaintances();
    for (const length of [1, 64, 127, 128, 129, 400]) {
      for (const letter of ["a", "ä", "秘"]) {
        const secret = letter.repeat(length);
        const tokens = tokensOf({ ann: secret });
        const connection = {};
        for (let i = 0; i < 2; i++) {
          expect(acquaintances.find(connection, tokens, secret)?.name).toBe("ann");
          expect(acquaintances.find(connection, tokens, `${secret.slice(0, -1)}b`)).toBeUndefined();
          expect(acquaintances.find(connection, tokens, `${secret}${letter}`)).toBeUndefined();
          expect(acquaintances.find(connection, tokens, secret.slice(1))).toBeUndefined();
        }
      }
    }
  });
});
