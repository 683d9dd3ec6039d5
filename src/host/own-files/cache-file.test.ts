import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { createCacheFile } from "./cache-file.ts";

const DAYS_MS = 24 * 60 * 60 * 1000;

test("REQ-T5: what another version uses beside this one stays, and what nobody uses is removed", async () => {
  const state = tempWorkspace();
  const [older, other, own] = ["1", "2", "3"].map((version) => createCacheFile(state, "kind", version));
  const usedLongAgo = new Date(Date.now() - 3 * DAYS_MS);
  const files = [];
  for (const cache of [older, other]) {
    const file = (await cache?.keep(Buffer.from("content"))) ?? "";
    utimesSync(file, usedLongAgo, usedLongAgo);
    files.push(file);
  }
  const folder = dirname(files[0] ?? "");
  const [written, left, foreign] = ["kind-2.a1", "kind-2.b2", "else-1"].map((name) => join(folder, name));
  for (const path of [written, left, foreign]) writeFileSync(path ?? "", "");
  for (const path of [left, foreign]) utimesSync(path ?? "", usedLongAgo, usedLongAgo);
  expect(await other?.find()).toBe(files[1]);
  const file = (await own?.keep(Buffer.from("new"))) ?? "";
  expect(readFileSync(file, "utf8")).toBe("new");
  expect([files[0], files[1], written, left, foreign].map((path) => existsSync(path ?? ""))).toEqual([
    false,
    true,
    true,
    false,
    true,
  ]);
});
