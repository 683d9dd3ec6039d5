import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const ID = /\b(?:REQ|FAIL)-[A-Z]\d+\b/g;

/** Every requirement id that a test cites, with the files that do. */
export const citations = (): ReadonlyMap<string, readonly string[]> => {
  const cited = new Map<string, string[]>();
  for (const folder of ["src", "test"]) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".test.ts")) continue;
      const text = readFileSync(join(ROOT, folder, name), "utf8");
      for (const id of new Set(text.match(ID) ?? []))
        cited.set(id, [...(cited.get(id) ?? []), `${folder}/${name}`]);
    }
  }
  return cited;
};
