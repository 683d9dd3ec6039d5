import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allTools } from "../../src/tools/all.ts";
import { findBrowser } from "../doors/browser.ts";
import { isPostgresInstalled } from "../installed-postgres.ts";
import { settings } from "./command-stand.ts";

const FOLDER = import.meta.dirname;
const tests = globSync("*.test.ts", { cwd: FOLDER })
  .filter((name) => name !== "escapes.test.ts")
  .map((name) => ({ name, text: readFileSync(join(FOLDER, name), "utf8") }));

test("escape tests are never skipped", () => {
  const skips = tests.filter(({ text }) => /\b(skip|skipIf|runIf|todo|fails|only)\s*\(/.test(text));
  expect(skips.map(({ name }) => name)).toEqual([]);
});

/** A test that ends early in one tier has passed there without having tried anything; another outcome is expected instead. */
const EARLY_RETURN = /\btier\s*[!=]==?[^;{}]*\)\s*\{?\s*return\s*;/;

test("escape tests do not end early in a tier", () => {
  expect(EARLY_RETURN.test('if (setting.tier === "landlock") return;')).toBe(true);
  expect(EARLY_RETURN.test('if (tier !== "plain") {\n  return;\n}')).toBe(true);
  expect(tests.filter(({ text }) => EARLY_RETURN.test(text)).map(({ name }) => name)).toEqual([]);
});

/** Elsewhere, what a machine does not have is not tried there. */
test.runIf(process.env["CI"] !== undefined && process.platform === "linux")(
  "in CI the machine has every tier, a browser and PostgreSQL: nothing is left out in silence",
  () => {
    expect(settings.map(({ name }) => name)).toEqual([
      "bubblewrap",
      "landlock",
      "landlock of an old kernel",
      "plain",
    ]);
    expect(findBrowser()).toBeDefined();
    expect(isPostgresInstalled).toBe(true);
  },
);

test("every tool that writes or executes is named by an escape test", async () => {
  const tools = await Promise.all(allTools.map(({ load }) => load()));
  const reaching = tools.filter(({ effect }) => effect === "write" || effect === "execute");
  expect(reaching.length).toBeGreaterThan(10);
  const unnamed = reaching.filter(
    ({ name }) => !tests.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)),
  );
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});
