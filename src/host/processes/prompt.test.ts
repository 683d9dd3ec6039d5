import { expect, test } from "vitest";
import { endsWithPrompt } from "./prompt.ts";

test.each([
  ">>> ",
  "... ",
  "$ ",
  "sqlite> ",
  "Name: ",
  "Password:",
  "Continue? [y/N] ",
  "(gdb) ",
  "a\nb\nmysql> ",
  "❯ ",
])("REQ-T9: %j asks for input", (text) => {
  expect(endsWithPrompt(text)).toBe(true);
});

test.each(["", "done\n", ">>> \n", "50 percent", "compiling", `${"x".repeat(300)}:`, "\n   "])(
  "REQ-T9: %j does not",
  (text) => {
    expect(endsWithPrompt(text)).toBe(false);
  },
);
