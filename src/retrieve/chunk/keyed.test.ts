import { expect, test } from "vitest";
import { languageOf } from "../../syntax/languages.ts";
import { cutKeyed } from "./keyed.ts";
import type { Sizes } from "./sizes.ts";

const SMALL: Sizes = { targetChars: 40, targetRows: 3, maxChars: 120, maxRows: 8 };

const keysOf = (language: string): RegExp => languageOf(`a.${language}`).keys ?? /^(?!)/;

const outline = (text: string, language: string): string[] =>
  cutKeyed(text, keysOf(language), SMALL).chunks.map(
    (chunk) => `${chunk.startLine}-${chunk.endLine} ${chunk.name}`,
  );

test("YAML is cut at its top-level keys, comments with what follows, small ones together", () => {
  const text = `name: x\non: push\n\n# about jobs\njobs:\n  build:\n    runs-on: linux\n\n"quoted key":\n  - a: 1\n    url: http://x\n`;
  expect(outline(text, "yaml")).toEqual(["1-2 name", "4-7 jobs", "9-11 quoted key"]);
});

test("TOML and INI are cut at their tables", () => {
  const text = `top = 1\n\n[package]\nname = "x"\nversion = "1"\n\n[[bin]]\nname = "tool"\npath = "a.rs"\n`;
  expect(outline(text, "toml")).toEqual(["1-5 package", "7-9 bin"]);
  expect(outline("[a]\nx=1\ny=2\nz=3\n[b]\nx=1\ny=2\nz=3\n", "ini")).toEqual(["1-4 a", "5-8 b"]);
});

test("names have no blanks around them", () => {
  expect(outline("[[ a.b ]]\nx=1\ny=2\nz=3\n  [ c ]  # about\nx=1\ny=2\nz=3\n", "toml")).toEqual([
    "1-4 a.b",
    "5-8 c",
  ]);
  const names = ["ab c  : 1\n", "x :\n  - 1\n", "'q' : 1\n"].map((text) => outline(text, "yaml").join());
  expect(names).toEqual(["1-1 ab c", "1-2 x", "1-1 q"]);
});

test.each([
  ["toml", `[${" ".repeat(385)}`],
  ["toml", `[[${" a".repeat(190)}`],
  ["ini", `[${" ".repeat(385)}`],
  ["yaml", `ab${" ".repeat(385)}`],
  ["yaml", `"${" ".repeat(190)}"${" ".repeat(190)}`],
])("FAIL-F5 rows of %s that are almost keys take no longer than others", (language, row) => {
  const text = `${row}\n`.repeat(1000);
  const startedAt = process.cpuUsage();
  cutKeyed(text, keysOf(language));
  // Microseconds; the cube of these rows is twenty seconds.
  expect(process.cpuUsage(startedAt).user).toBeLessThan(1_000_000);
});
