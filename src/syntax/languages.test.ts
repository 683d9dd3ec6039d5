import { expect, test } from "vitest";
import { languageOf } from "./languages.ts";

test.each([
  ["src/a.py", "", "python"],
  ["a.TSX", "", "tsx"],
  ["a/b.jsx", "", "jsx"],
  ["include/a.h", "int f(void);\n", "c"],
  ["include/a.h", "namespace a { class B {}; }\n", "cpp"],
  ["include/a.h", "#import <Foundation/Foundation.h>\n@interface A : NSObject\n@end\n", "objc"],
  ["a.m", "% doc\nfunction y = f(x)\n", "matlab"],
  ["a.m", '#import "a.h"\n', "objc"],
  ["locale/de.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n', "xml"],
  ["Makefile", "", "make"],
  ["docker/Dockerfile.dev", "", "dockerfile"],
  ["Jenkinsfile", "", "groovy"],
  ["bin/tool", "#!/usr/bin/env -S python3 -u\n", "python"],
  ["bin/tool", "#!/bin/sh -e\n", "bash"],
  ["bin/tool", "\uFEFF#!/usr/bin/env LANG=C node\n", "javascript"],
  ["bin/tool", "just words\n", "text"],
  ["README", "", "text"],
  ["docs/a.rst", "", "rst"],
  ["a.ipynb", "", "notebook"],
  ["a.unknown", "", "text"],
  ["constructor", "", "text"],
  ["a.__proto__", "x", "text"],
])("%s starting with %j is %s", (path, text, id) => {
  expect(languageOf(path, text).id).toBe(id);
});

test("families say how a file is read", () => {
  expect(languageOf("a.go").kind).toBe("code");
  expect(languageOf("a.md").kind).toBe("prose");
  expect(languageOf("a.yaml").kind).toBe("data");
  expect(languageOf("a.xyz").kind).toBe("text");
});
