import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

const FILES = {
  "lib/hooks.js": "function addHook () {}\nfunction unused () {}\nmodule.exports = { addHook, unused }\n",
  "lib/main.js": "const hooks = require('./hooks')\nhooks.addHook()\nhooks['addHook']()\n",
  "lib/other.js": "const names = ['addHook', 'removedHook']\nmodule.exports = names\n",
  "lib/more.js": "module.exports = (app) => app.removedHook()\n",
  "docs/guide.md": "# Guide\n\nCall `unused` and `addHook`.\n",
};

const open = () =>
  openTestApp({
    files: FILES,
    config: '[mcp]\nmode = "classic"\n[mcp.rag]\nwatch = false\nindex_threads = 1\n',
  });

describe("REQ-R5 answers say what they could not resolve", () => {
  test("where-used counts mentions beyond its uses and names their files", async () => {
    const app = await open();
    const text = await app.text("rag_where_used", { symbol: "addHook" });
    expect(text).toContain("lib/main.js\n2");
    expect(text).toContain("[2 resolved, 4 mentions; not resolved: lib/main.js 1, lib/other.js 1]");
  });

  test("no uses are claimed only where the text of the code has none", async () => {
    const app = await open();
    writeFileSync(join(app.root, "lib/hooks.js"), "function addHook () {}\nfunction unused () {}\n");
    expect(await app.text("rag_where_used", { symbol: "unused" })).toBe(
      "defined: unused lib/hooks.js:2\n[no uses]",
    );
    const text = await app.text("rag_where_used", { symbol: "addHook" });
    expect(text).not.toContain("no uses");
    expect(text).toContain("[0 resolved, 3 mentions; not resolved: lib/main.js:2,3, lib/other.js:1]");
  });

  test("a name without a definition falls back to its mentions, in all three tools", async () => {
    const app = await open();
    const expected = "[no definition; 2 mentions in lib/more.js:1, lib/other.js:1";
    expect(await app.text("rag_where_used", { symbol: "removedHook" })).toContain(expected);
    expect(await app.text("rag_lineage", { symbol: "removedHook" })).toContain(expected);
    expect(await app.text("inspect", { target: "removedHook" })).toContain(expected);
    expect(await app.text("inspect", { target: "neverWritten" })).toContain("[nothing has this name");
  });

  test("a definition that is deleted while its uses remain is reported", async () => {
    const app = await open();
    expect(await app.text("rag_where_used", { symbol: "addHook" })).toContain("defined: addHook");
    rmSync(join(app.root, "lib/hooks.js"));
    expect(await app.text("rag_where_used", { symbol: "addHook" })).toContain(
      "[no definition; 3 mentions in lib/main.js:2,3, lib/other.js:1",
    );
  });

  test("lineage and inspect say how many mentions are not resolved", async () => {
    const app = await open();
    const lineage = await app.text("rag_lineage", { symbol: "addHook" });
    expect(lineage).toContain("* addHook lib/hooks.js:1");
    expect(lineage).not.toContain("[no calls]");
    expect(lineage).toContain("not resolved: lib/main.js 1, lib/other.js 1]");
    expect(await app.text("inspect", { target: "addHook" })).toContain("uses: 2\n[2 resolved, 4 mentions;");
  });

  test("of a name that very many files have, not all of them are read, and the answer says so", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 305 }, (_, index) => [
        `lib/f${index}.js`,
        "module.exports = (x) => x.widespread\n",
      ]),
    );
    const app = await openTestApp({
      files,
      config: '[mcp]\nmode = "classic"\n[mcp.rag]\nwatch = false\nindex_threads = 1\n',
    });
    const text = await app.text("rag_where_used", { symbol: "widespread" });
    expect(text).toContain("[no definition; 300 or more mentions in lib/f");
    expect(text).toContain("292 elsewhere");
    expect(text.length).toBeLessThan(400);
  });
});
