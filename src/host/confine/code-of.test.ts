import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { codeOf } from "./code-of.ts";

const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-code-of-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const app = join(folder, "app");
mkdirSync(join(app, "dist"), { recursive: true });
writeFileSync(join(app, "package.json"), "{}");
const link = (name: string, target: string): void => {
  const path = join(app, "node_modules", name);
  mkdirSync(join(path, ".."), { recursive: true });
  mkdirSync(target, { recursive: true });
  symlinkSync(target, path);
};

describe("REQ-I1: what a confined program of ours may read", () => {
  test("a package that is a link is read where it really is, with what it imports", () => {
    link("plain", join(folder, "store/plain"));
    link("@scope/other", join(folder, "elsewhere/node_modules/other"));
    mkdirSync(join(app, "node_modules/real"));
    const code = codeOf(join(app, "dist"));
    expect(code.slice(0, 3)).toEqual([
      join(app, "dist"),
      join(app, "package.json"),
      join(app, "node_modules"),
    ]);
    expect(code).toContain(join(folder, "store/plain"));
    expect(code).toContain(join(folder, "elsewhere/node_modules/other"));
    expect(code).toContain(join(folder, "elsewhere/node_modules"));
    expect(code).not.toContain(join(app, "node_modules/real"));
  });

  test("links inside the folder of packages, as pnpm's, and links to nothing add no folder", () => {
    mkdirSync(join(app, "node_modules/.store/inside"), { recursive: true });
    symlinkSync(".store/inside", join(app, "node_modules/inside"));
    symlinkSync("nowhere", join(app, "node_modules/broken"));
    const code = codeOf(join(app, "dist"));
    expect(code.filter((path) => /inside|broken|nowhere/.test(path))).toEqual([]);
  });
});
