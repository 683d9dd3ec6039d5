import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { citations } from "../scripts/citations.ts";
import { REQUIREMENTS } from "./requirements.ts";

test("every id that a test cites exists", () => {
  const unknown = [...citations()].filter(([id]) => !(id in REQUIREMENTS));
  expect(unknown).toEqual([]);
});

test("a test that only compares saved figures with what we quote proves no behaviour, and cites none", () => {
  const files = [...new Set([...citations().values()].flat())];
  const comparing = files.filter((file) =>
    readFileSync(resolve(import.meta.dirname, "..", file), "utf8").includes("/saved-figures.ts"),
  );
  expect(comparing).toEqual([]);
});
