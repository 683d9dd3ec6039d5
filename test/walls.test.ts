import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { dialectNames } from "./walls/check-code.ts";
import { readSources } from "./walls/source.ts";
import { TABLE } from "./walls/table.ts";
import { violationsIn } from "./walls/walls.ts";

const SRC = resolve(import.meta.dirname, "../src");

describe("the walls of the house", () => {
  test("the imports are really found", () => {
    const found = readSources(SRC).flatMap(({ path, imports }) =>
      imports.map(({ target }) => `${path} imports ${target}`),
    );
    expect(found).toContain("core/authorizer.ts imports ../policy/show-call.ts");
    expect(found).toContain("observe/prometheus.ts imports prom-client");
    expect(found).toContain("host/own-files/disk.ts imports node:fs/promises");
  });

  test.each(Object.entries(violationsIn(SRC, TABLE)))("%s", (_wall, violations) => {
    expect(violations).toEqual([]);
  });

  test.each(["test", "bench", "scripts"])("dialect in %s", (folder) => {
    expect(dialectNames(readSources(resolve(SRC, "..", folder), { tests: true }))).toEqual([]);
  });
});
