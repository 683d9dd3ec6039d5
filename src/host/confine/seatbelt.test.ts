import { expect, test } from "vitest";
import { seatbeltProfile } from "./seatbelt.ts";

const profile = (): string =>
  seatbeltProfile(
    "/opt/node/bin/node",
    {
      program: "/opt/llmc/front.js",
      readable: ["/opt/llmc/front.js", '/data/a "quoted" \\ folder'],
    },
    (path) => path.startsWith("/data"),
  );

/** Every bracket has its other one, and none is inside a string. */
const isBalanced = (text: string): boolean => {
  let depth = 0;
  for (const part of text.replaceAll(/"(\\.|[^"\\])*"/g, "")) {
    if (part === "(") depth++;
    if (part === ")" && --depth < 0) return false;
  }
  return depth === 0;
};

test("REQ-I2 the profile for macOS denies by default, and opens what was named", () => {
  const text = profile();
  expect(text.split("\n").slice(0, 3)).toEqual(["(version 1)", "(deny default)", "(deny process-fork)"]);
  expect(text).toContain('(literal "/opt/llmc/front.js")');
  expect(text).toContain('(allow process-exec (literal "/opt/node/bin/node"))');
  expect(text).not.toMatch(/allow (network(?!-inbound)|system-socket|file-write|process-fork|default|mach)/);
  expect(isBalanced(text)).toBe(true);
});

test("REQ-I2 a path cannot end its string and add rules of its own", () => {
  expect(profile()).toContain('(subpath "/data/a \\"quoted\\" \\\\ folder")');
  const hostile = seatbeltProfile(
    "/node",
    { program: "/p", readable: ['/x"))(allow default)(("'] },
    () => false,
  );
  expect(isBalanced(hostile)).toBe(true);
  expect(hostile.replaceAll(/"(\\.|[^"\\])*"/g, "")).not.toContain("allow default");
});
