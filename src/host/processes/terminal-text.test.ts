import { describe, expect, test } from "vitest";
import { settledLength, terminalText } from "./terminal-text.ts";

describe("terminalText", () => {
  test.each([
    ["plain\ttext\r\n", "plain\ttext\n"],
    ["\u001b[1;31mred\u001b[0m", "red"],
    ["\u001b]0;title\u0007body\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "bodylink"],
    ["\u001b(Bset\u001b=\u001b>", "set"],
    ["10%\r50%\r100%\r\nnext", "100%\nnext"],
    ["kept\r", "kept"],
    ["ab\b\bcd", "cd"],
    ["bell\u0007 nul\u0000", "bell nul"],
    ["\u001b]never ends\nline", "]never ends\nline"],
    ["\u001b[?2004hä😀", "ä😀"],
    ["", ""],
  ])("%j is %j", (raw, text) => {
    expect(terminalText(raw)).toBe(text);
  });

  test("FAIL-B2: hostile sequences take linear time", () => {
    const startedAt = performance.now();
    for (const piece of ["\u001b]", "\u001b[", "\u001b[0", "\b", "\r", "\u001b(("])
      terminalText(piece.repeat(200_000));
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

describe("settledLength", () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  test.each([
    [Buffer.from([0x61, 0xc3]), false, 1],
    [bytes("aä"), false, 3],
    [bytes("😀").subarray(0, 3), false, 0],
    [Buffer.from([0x61, 0x80]), false, 2],
    [Buffer.from([0xff, 0xff]), false, 2],
    [bytes("a\u001b[1"), true, 1],
    [bytes("a\u001b[1m"), true, 5],
    [bytes("a\u001b[1mb"), true, 6],
    [bytes("a\r"), true, 1],
    [bytes("a\r"), false, 2],
    [bytes(""), true, 0],
  ])("%o %s: %i", (given, isTerminal, length) => {
    expect(settledLength(given, isTerminal)).toBe(length);
  });
});
