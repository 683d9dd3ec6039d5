import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBlankDirectories } from "./blank-directories.ts";

test("finds directories without files, however deep, and none that has some", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "llmc-blank-")));
  try {
    const at = (name: string): string => join(folder, name);
    for (const name of ["src", "empty", "nest/inner", "ignored/deep", ".hidden", "kept"])
      mkdirSync(at(name), { recursive: true });
    for (const name of ["src/a.ts", "ignored/deep/b.js", "kept/.gitkeep"]) writeFileSync(at(name), "");
    symlinkSync("/etc", at("link"));
    const found = findBlankDirectories(new Set([folder, at("src"), at("gone")]));
    expect([...found].toSorted()).toEqual([at("empty"), at("kept"), at("nest"), at("nest/inner")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
