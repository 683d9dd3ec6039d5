import { expect, test } from "vitest";
import { firstAnswerTokens } from "./asked-lines.ts";

test.each([
  "tail -n 100 server.log",
  "tail -n100 server.log",
  "tail -100 'server 2.log'",
  "head --lines=50 a.txt",
  "head --lines 50 a.txt",
  "rg -n foo | head -20",
  "cd app && /usr/bin/tail -n 5 x",
  ["tail", "-n", "100", "server.log"],
])("REQ-X4: a number of lines is asked for: %s", (command) => {
  expect(firstAnswerTokens(command, 2000)).toBe(4000);
});

test.each([
  "tail server.log",
  "tail -n +100 server.log",
  "head -n -5 a.txt",
  "head --lines -5 a.txt",
  "tail -f server.log",
  "head -20 a.txt | sort",
  "cat head -20.txt",
  "ls; tailor -n 5",
  "",
])("REQ-X4: the number of lines is left open: %s", (command) => {
  expect(firstAnswerTokens(command, 2000)).toBe(2000);
});

test("a hostile line takes no time", () => {
  const startedAt = performance.now();
  for (const piece of ["a/", "head ", "| tail ", " -n 5", "/head -n5 |"])
    firstAnswerTokens(piece.repeat(8000), 2000);
  expect(performance.now() - startedAt).toBeLessThan(1000);
});
