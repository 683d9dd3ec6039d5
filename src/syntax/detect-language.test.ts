import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { detectLanguage } from "./detect-language.ts";

test.each<[string, string, string | undefined]>([
  ["a shebang", "#!/usr/bin/env python3\nprint(1)\n", "python"],
  ["PHP", "<?php\necho 1;\n", "php"],
  ["XML", '<?xml version="1.0"?>\n<a/>', "xml"],
  ["HTML", "<!DOCTYPE html>\n<html></html>", "html"],
  ["JSON", '{ "name": "x", "list": [1] }', "json"],
  ["Python", "from os import path\n\nclass A(B):\n    def f(self):\n        return 1\n", "python"],
  ["Go", "package main\n\nimport (\n)\n\nfunc main() {\n}\n", "go"],
  ["Rust", "use std::io;\n\npub struct A;\n\nfn main() {}\n", "rust"],
  ["C", '#include <stdio.h>\n#include <stdlib.h>\n#include "a.h"\nint x;\n', "c"],
  ["prose", "A report about a class of patients.\nImport duties rose: see below.\n".repeat(50), undefined],
  ["a log", "2026-01-01T00:00:00 error: def not found\n".repeat(100), undefined],
  ["a bracket in prose", "[sic] he said.\n", undefined],
  ["nothing", "", undefined],
])("%s is detected by its text", (_, text, language) => {
  expect(detectLanguage(text)).toBe(language);
});

test("this file and the guides are what they are", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  expect(["typescript", "javascript"]).toContain(detectLanguage(read("./languages.ts")));
  expect(detectLanguage(read("../../docs/guides/audit.md"))).toBeUndefined();
});

test("REQ-L3 FAIL-B2 any text is looked at in little time", () => {
  const before = process.cpuUsage();
  const parts = [
    "\n",
    "\r\n",
    " \n",
    " ",
    "\t",
    "a",
    "{",
    "import ",
    "def a",
    "let a ",
    "a: ",
    "#",
    "<",
    "export ",
  ];
  for (const part of parts)
    for (const start of ["", "x", "#!/usr/bin/env ", "import ", "let a = "])
      detectLanguage(start + part.repeat(Math.ceil(20_000 / part.length)));
  // Processor time: a busy machine takes longer.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500);
});
