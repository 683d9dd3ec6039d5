import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allTools } from "./all.ts";
import { EFFECTS } from "./tool.ts";

const loaded = await Promise.all(
  allTools.map(async ({ name, load }) => ({ entry: name, tool: await load() })),
);

/** `linux_fs_read` lives in `linux-fs-read.ts`; numbers in front only sort a name before others. */
const fileOf = (name: string): string => `${name.replace(/^\d+_/, "").toLowerCase().replaceAll("_", "-")}.ts`;

describe("the list of tools", () => {
  test.each(loaded)("$entry is the name of the tool behind it, and of its file", ({ entry, tool }) => {
    expect(tool.name).toBe(entry);
    expect(EFFECTS).toContain(tool.effect);
    expect(existsSync(join(import.meta.dirname, fileOf(entry))), fileOf(entry)).toBe(true);
  });

  test("REQ-E1: what the instructions say of results is so: linux_*, kb_* and admin_* have their fields, all others data and meta", () => {
    const keysOf = (schema: unknown): readonly string[] =>
      Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {});
    for (const { entry, tool } of loaded) {
      const keys = keysOf(tool.output?.["~standard"].jsonSchema.output({ target: "draft-2020-12" }));
      if (/^(?:linux|kb|admin)_/.test(entry)) expect(keys, entry).not.toContain("data");
      else expect(keys, entry).toEqual(["data", "meta"]);
    }
  });

  test("no name or alias means two tools", () => {
    const names = loaded.flatMap(({ tool }) => [tool.name, ...(tool.aliases ?? [])]);
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test("a tool is loaded once, however often it is asked for", async () => {
    const again = await Promise.all(allTools.map(({ load }) => load()));
    expect(again.filter((tool, at) => tool !== loaded[at]?.tool)).toEqual([]);
  });
});
