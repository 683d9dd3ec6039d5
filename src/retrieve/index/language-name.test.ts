import { expect, test } from "vitest";
import { withoutLanguage } from "./language-name.ts";

const files = (...languages: string[]) =>
  new Map(languages.map((language, i) => [`f${i}`, { language, state: "indexed" as const }]));

test("REQ-R3 the name of the language of at least half of the files is left out of a question", () => {
  const python = files("python", "python", "markdown", "json");
  expect(withoutLanguage("python sort a list", python)).toBe("sort a list");
  expect(withoutLanguage("sort a list in Python?", python)).toBe("sort a list in  ?");
  expect(withoutLanguage("json in python", python)).toBe("json in");
  expect(withoutLanguage("pythonic names", python)).toBe("pythonic names");
  expect(withoutLanguage("python", python)).toBe("python");
  expect(withoutLanguage("python python", python)).toBe("python python");
  expect(withoutLanguage("call python from go", files("python", "go", "go"))).toBe("call python from");
  expect(withoutLanguage("call python", files("python", "go", "rust"))).toBe("call python");
});
