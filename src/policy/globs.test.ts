import { expect, it } from "vitest";
import { compileGlob } from "./globs.ts";

it.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "src/deep/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["*.ts", ".hidden.ts", true],
  ["a*b*c", "axxbyyc", true],
  ["a*b*c", "axxbyy", false],
  ["*", "anything", true],
  ["?.ts", "a.ts", true],
  ["?.ts", "ab.ts", false],
  ["?.ts", "😀.ts", true],
  ["[a-c]x", "bx", true],
  ["[a-c]x", "dx", false],
  ["[!a-c]x", "dx", true],
  ["[^a-c]x", "bx", false],
  ["[]]x", "]x", true],
  ["[!]]x", "ax", true],
  ["[a-]x", "-x", true],
  ["*.{ts,tsx}", "a.tsx", true],
  ["*.{ts,tsx}", "a.js", false],
  ["{a,b{c,d}}.md", "bd.md", true],
  ["{a,b{c,d}}.md", "b.md", false],
  ["\\*.ts", "*.ts", true],
  ["\\*.ts", "a.ts", false],
  ["a.b", "axb", false],
  ["a\nb*", "a\nbc", true],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/deep/a.ts", false],
  ["src/*.ts", "other/src/a.ts", false],
  ["/a.ts", "a.ts", true],
  ["/a.ts", "src/a.ts", false],
  ["./a.ts", "a.ts", true],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/x/y/a.ts", true],
  ["src/**", "src/x/y", true],
  ["**/x/**/y", "a/x/b/c/y", true],
  ["**/x/**/y", "a/x/b/c/z", false],
  ["docs/", "a/docs/b.md", true],
  ["docs/", "docs.md", false],
  ["/docs/", "a/docs/b.md", false],
  ["a/docs/", "a/docs/b/c.md", true],
  ["{src,lib}/*.ts", "lib/a.ts", true],
  ["src/{a/x,b/y}.ts", "src/b/y.ts", true],
  ["!a", "!a", true],
] as const)("%s on %s: %s", (glob, path, expected) => {
  expect(compileGlob(glob)(path)).toBe(expected);
});

it("ignores case on request", () => {
  expect(compileGlob("readme*", { ignoreCase: true })("docs/README.md")).toBe(true);
  expect(compileGlob("readme*")("README.md")).toBe(false);
});

it.each(["[a", "a/[b", "{a,b", "x{", "{a,b}".repeat(20)])("refuses %j and says why", (glob) => {
  expect(() => compileGlob(glob)).toThrow(/glob .* has /);
});

it("FAIL-B2 takes little time for patterns that make regular expressions explode", () => {
  const start = performance.now();
  expect(compileGlob(`${"*a".repeat(30)}*b`)("a".repeat(255))).toBe(false);
  expect(compileGlob(`${"**/a/".repeat(30)}b`)("a/".repeat(500))).toBe(false);
  expect(performance.now() - start).toBeLessThan(500);
});
