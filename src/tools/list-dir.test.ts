import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

test("REQ-T1 REQ-D13: names, directories marked in the text only", async () => {
  const app = await openTestApp({ files: { "b.txt": "", "a/x.txt": "", ".hidden": "" } });
  expect(await app.ask("list_dir", {})).toMatchObject({
    content: [{ type: "text", text: ".hidden\na/\nb.txt" }],
    structured: {
      data: [".hidden", "a", "b.txt"],
      meta: { path: ".", total: 3, truncated: false, dirs: ["a"] },
    },
  });
});

test("an empty directory says so", async () => {
  const app = await openTestApp();
  mkdirSync(join(app.root, "empty"));
  expect(await app.text("list_dir", { path: "empty" })).toBe("[empty directory]");
});

test("a large directory comes in parts", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 700 }, (_, i) => [`d/f${String(i).padStart(4, "0")}`, ""]),
  );
  const app = await openTestApp({ files });
  const first = (await app.text("list_dir", { path: "d" })).split("\n");
  expect(first).toHaveLength(301);
  expect(first.at(-1)).toBe("[300 of 700 names; go on with offset]");
  const last = (await app.text("list_dir", { path: "d", offset: 600 })).split("\n");
  expect(last).toEqual(Array.from({ length: 100 }, (_, i) => `f${String(600 + i).padStart(4, "0")}`));
});

test("a name with a line break stays one line", async () => {
  const app = await openTestApp({ files: { "two\nlines": "" } });
  expect(await app.text("list_dir", {})).toBe('"two\\nlines"');
});

test("refusals: outside, missing, a file", async () => {
  const app = await openTestApp({ files: { "a.txt": "" } });
  expect(await app.errorCode("list_dir", { path: ".." })).toBe("path_denied");
  expect(await app.errorCode("list_dir", { path: "nope" })).toBe("file_not_found");
  expect(await app.errorCode("list_dir", { path: "a.txt" })).toBe("not_a_directory");
});
