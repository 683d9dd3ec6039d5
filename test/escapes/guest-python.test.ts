import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PYTHON_PROGRAMS } from "./guest-python-programs.ts";
import { runHostile } from "./guest-stand.ts";

describe("FAIL-G2 REQ-E3: hostile programs in Python are contained", () => {
  const { app, run, check } = runHostile("python", PYTHON_PROGRAMS);

  test("there are enough of them, each with a name of its own", () => {
    expect(new Set(PYTHON_PROGRAMS.map(({ title }) => title)).size).toBe(PYTHON_PROGRAMS.length);
    expect(PYTHON_PROGRAMS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(PYTHON_PROGRAMS)("$title", check);

  test("the server lives, the next program is clean, and nothing was planted", async () => {
    const clean =
      "import json, os\n[json.dumps({'a': 1}), os.listdir('.'), 'js' in __import__('sys').modules]";
    expect(await run(clean)).toMatchObject({ result: ['{"a": 1}', [], false] });
    expect(existsSync(join(app().root, "big"))).toBe(false);
    expect(await app().text("read_file", { path: "a.txt" })).toBe("open\n");
  });
});
