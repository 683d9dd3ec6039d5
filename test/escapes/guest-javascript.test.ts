import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JAVASCRIPT_PROGRAMS } from "./guest-javascript-programs.ts";
import { runHostile } from "./guest-stand.ts";

const CLEAN = {
  code: "[typeof Object.prototype.then, JSON.stringify({a: 1}), files.list().length, Object.keys(globalThis).length]",
  result: ["undefined", '{"a":1}', 0, 0],
};

describe("FAIL-G2 REQ-E3: hostile programs in JavaScript are contained", () => {
  const { app, run, cleaned, check } = runHostile("javascript", JAVASCRIPT_PROGRAMS, CLEAN);

  test("there are enough of them, each with a name of its own", () => {
    expect(new Set(JAVASCRIPT_PROGRAMS.map(({ title }) => title)).size).toBe(JAVASCRIPT_PROGRAMS.length);
    expect(JAVASCRIPT_PROGRAMS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(JAVASCRIPT_PROGRAMS)("$title", check);

  test("the server lives, the next program is clean, also in a session that was ended, and nothing was planted", async () => {
    expect(await run(CLEAN.code)).toMatchObject({ result: CLEAN.result });
    expect(cleaned()).toBeGreaterThan(5);
    expect(existsSync(join(app().root, "big"))).toBe(false);
    expect(await app().text("read_file", { path: "a.txt" })).toBe("open\n");
  });
});
