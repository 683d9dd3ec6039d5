import { describe, expect, test } from "vitest";
import { showControls } from "./text.ts";

const ESC = "\u001b";

describe("FAIL-J12: control characters in text that is read on a screen", () => {
  test.each([
    ["plain text stays", "a\tb\nc é 漢 🙂", "a\tb\nc é 漢 🙂"],
    ["so do line ends of either kind", "a\r\nb\n", "a\r\nb\n"],
    ["colours are left out", `${ESC}[1;31mred${ESC}[0m`, "red"],
    ["so does text that turns its direction", "a\u202egnp.exe\u2066b", "a\\u202egnp.exe\\u2066b"],
    ["a clear screen is seen", `${ESC}[2J${ESC}[H`, "␛[2J␛[H"],
    ["a title, and its bell", `${ESC}]0;title\u0007`, "␛]0;title␇"],
    [
      "a link, a paste, a device control",
      `${ESC}]8;;http://x${ESC}\\${ESC}[200~${ESC}Pq`,
      "␛]8;;http://x␛\\␛[200~␛Pq",
    ],
    ["a lone carriage return", "safe\rrm -rf", "safe␍rm -rf"],
    ["backspaces", "abc\b\b\bxyz", "abc␈␈␈xyz"],
    ["NUL and DEL", "\u0000\u007f", "␀␡"],
    ["sequences of one byte (C1)", "\u009b2J\u009d0;t\u009c\u0085", "\\x9b2J\\x9d0;t\\x9c\\x85"],
    ["a colour that never ends", `${ESC}[31`, "␛[31"],
    ["vertical tabs and form feeds", "a\u000bb\u000cc", "a␋b␌c"],
  ])("%s", (_title, raw, shown) => {
    expect(showControls(raw)).toBe(shown);
  });

  test("nothing raw is left of any of them, and a flood takes no long time", () => {
    const all = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("x");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be left.
    expect(showControls(all)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    // Of the processor, which others may be using, too.
    const before = process.cpuUsage();
    showControls(`${ESC}[`.repeat(1_000_000));
    showControls(`${ESC}[${"1;".repeat(1_000_000)}`);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(3000);
  });
});
