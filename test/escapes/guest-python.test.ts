import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PYTHON_PROGRAMS } from "./guest-python-programs.ts";
import { runHostile } from "./guest-stand.ts";

const CLEAN = {
  code: "import json, os\n[json.dumps({'a': 1}), os.listdir('.'), 'js' in __import__('sys').modules]",
  result: ['{"a": 1}', [], false],
};

describe("FAIL-G2 REQ-E3: hostile programs in Python are contained", () => {
  const { app, run, cleaned, check } = runHostile("python", PYTHON_PROGRAMS, CLEAN);

  test("there are enough of them, each with a name of its own", () => {
    expect(new Set(PYTHON_PROGRAMS.map(({ title }) => title)).size).toBe(PYTHON_PROGRAMS.length);
    expect(PYTHON_PROGRAMS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(PYTHON_PROGRAMS)("$title", check);

  test("the server lives, the next program is clean, also in a session that was ended, and nothing was planted", async () => {
    expect(await run(CLEAN.code)).toMatchObject({ result: CLEAN.result });
    expect(cleaned()).toBeGreaterThan(5);
    expect(existsSync(join(app().root, "big"))).toBe(false);
    expect(await app().text("read_file", { path: "a.txt" })).toBe("open\n");
  });
});
