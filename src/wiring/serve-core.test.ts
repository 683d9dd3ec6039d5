import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

/** Of a file: what is imported when it is loaded, without types and without what is loaded later. */
const IMPORT = /^(?:import|export)\s(?!type\b)[^;]*?from\s+"([^"]+)";|^import\s+"([^"]+)";/gm;

const loadedWith = (file: string, found = new Set<string>()): ReadonlySet<string> => {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, from, bare] of readFileSync(file, "utf8").matchAll(IMPORT)) {
    const name = from ?? bare ?? "";
    if (name.startsWith(".")) loadedWith(join(dirname(file), name), found);
    else found.add(name);
  }
  return found;
};

const startOf = (program: string): ReadonlySet<string> =>
  loadedWith(join(import.meta.dirname, "..", `${program}.ts`));

const LIBRARY = /^@modelcontextprotocol\//;

it.each(["supervise", "front", "serve-core"])(
  "REQ-P5 REQ-I1 %s starts without the MCP library",
  (program) => {
    expect([...startOf(program)].filter((name) => LIBRARY.test(name))).toEqual([]);
  },
);

it("the part of a front that is loaded later has it", () => {
  expect([...startOf("wiring/front-door")].filter((name) => LIBRARY.test(name))).not.toEqual([]);
});
