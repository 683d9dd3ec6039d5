import { expect, test } from "vitest";
import { argumentsText } from "./arguments-text.ts";

test("arguments are measured as JSON; of a text that no client can send, the size and the digest", () => {
  const digest = (text: string): string => `digest-${text.length}`;
  expect(argumentsText({ path: "a", depth: 2 }, digest)).toBe('{"path":"a","depth":2}');
  expect(argumentsText(undefined, digest)).toBe("{}");
  const long = "\u00e9".repeat(16 * 1024 * 1024);
  expect(argumentsText({ task: "t", context: long }, digest)).toBe(
    JSON.stringify({ task: "t", context: long }),
  );
  expect(argumentsText({ task: "t", context: `${long}x` }, digest)).toBe(
    '{"task":"t","context":"[33554433 bytes: digest-16777217]"}',
  );
});
