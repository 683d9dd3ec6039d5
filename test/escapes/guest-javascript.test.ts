import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JAVASCRIPT_PROGRAMS } from "./guest-javascript-programs.ts";
import { runHostile } from "./guest-stand.ts";

describe("FAIL-G2 REQ-E3: hostile programs in JavaScript are contained", () => {
  const { app, run, check } = runHostile("javascript", JAVASCRIPT_PROGRAMS);

  test("there are enough of them, each with a name of its own", () => {
    expect(new Set(JAVASCRIPT_PROGRAMS.map(({ title }) => title)).size).toBe(JAVASCRIPT_PROGRAMS.length);
    expect(JAVASCRIPT_PROGRAMS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(JAVASCRIPT_PROGRAMS)("$title", check);

  test("the server lives, the next program is clean, and nothing was planted", async () => {
    const clean =
      "[typeof Object.prototype.then, JSON.stringify({a: 1}), files.list().length, Object.keys(globalThis).length]";
    expect(await run(clean)).toMatchObject({ result: ["undefined", '{"a":1}', 0, 0] });
    expect(existsSync(join(app().root, "big"))).toBe(false);
    expect(await app().text("read_file", { path: "a.txt" })).toBe("open\n");
  });
});
