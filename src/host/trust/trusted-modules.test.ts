import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { digestFolder } from "./trusted-modules.ts";

const SOURCE = fileURLToPath(new URL("./trusted-modules.ts", import.meta.url));

/** Loads one module in a process of its own, since hooks are the process's; what it exports as `value`, or the reason. */
const load = (root: string, file: string, digests: Readonly<Record<string, string>>): string => {
  const program = `
    const { importTrusted } = await import(${JSON.stringify(SOURCE)});
    const folder = ${JSON.stringify(join(root, "mods"))};
    const loading = importTrusted(folder, folder + "/" + ${JSON.stringify(file)}, ${JSON.stringify(digests)});
    console.log(await loading.then((loaded) => String(loaded.value), (error) => error.message));
  `;
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
  return execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" }).trim();
};

const FILES = {
  "mods/plain.mjs": "export const value = 1;",
  "mods/typed.ts":
    'import { half } from "./sub/half.mts";\nimport { sep } from "node:path";\nexport const value: string = half + sep;',
  "mods/sub/half.mts": "export const half: number = 2;",
  "mods/climbs.mjs": 'import "../outside.mjs";\nexport const value = 1;',
  "mods/package.mjs": 'import "evil";\nexport const value = 1;',
  "mods/required.mjs":
    'import { createRequire } from "node:module";\ncreateRequire(import.meta.url)("evil");\nexport const value = 1;',
  "mods/data.mjs": 'await import("data:text/javascript,console.log(1)");\nexport const value = 1;',
  "mods/dynamic.mjs": 'await import("../out" + "side.mjs");\nexport const value = 1;',
  "outside.mjs": 'console.log("RAN");',
  "node_modules/evil/package.json": '{"name":"evil","main":"index.cjs"}',
  "node_modules/evil/index.cjs": 'console.log("RAN");',
};

describe("REQ-D22: a workspace's modules are run by their content", () => {
  test("those that were granted run, with the files that they import", () => {
    const root = tempWorkspace(FILES);
    const digests = digestFolder(join(root, "mods"));
    expect(load(root, "plain.mjs", digests)).toBe("1");
    expect(load(root, "typed.ts", digests)).toBe("2/");
  });

  test("a changed file, a changed import and a file that came later do not", () => {
    const root = tempWorkspace(FILES);
    const digests = digestFolder(join(root, "mods"));
    writeFileSync(join(root, "mods/plain.mjs"), 'console.log("RAN");');
    writeFileSync(join(root, "mods/sub/half.mts"), 'console.log("RAN");');
    writeFileSync(join(root, "mods/new.mjs"), 'console.log("RAN");');
    const why = "when this workspace was trusted: look at it, then run llmc trust";
    expect(load(root, "plain.mjs", digests)).toBe(`plain.mjs had different content ${why}`);
    expect(load(root, "typed.ts", digests)).toBe(`sub/half.mts had different content ${why}`);
    expect(load(root, "new.mjs", digests)).toBe(`new.mjs was not there ${why}`);
  });

  test.each([
    ["climbs.mjs", "../outside.mjs: it is outside the modules' folder"],
    ["dynamic.mjs", "../outside.mjs: it is outside the modules' folder"],
    ["package.mjs", "evil: a workspace's module can import node: modules and files of its own folder only"],
    ["required.mjs", "evil: a workspace's module can import node: modules and files of its own folder only"],
    ["data.mjs", "a workspace's module can import node: modules and files of its own folder only"],
  ])("FAIL-J2: %s reaches nothing that was not digested", (file, why) => {
    const root = tempWorkspace(FILES);
    const answer = load(root, file, digestFolder(join(root, "mods")));
    expect(answer).toContain(why);
    expect(answer).not.toContain("RAN");
  });

  test("links are neither digested nor run", () => {
    const root = tempWorkspace({ ...FILES });
    symlinkSync(join(root, "outside.mjs"), join(root, "mods/link.mjs"));
    mkdirSync(join(root, "far"));
    symlinkSync(join(root, "far"), join(root, "mods/folder"));
    const digests = digestFolder(join(root, "mods"));
    expect(Object.keys(digests)).not.toContain("link.mjs");
    const digest = digests["plain.mjs"] ?? "";
    expect(load(root, "link.mjs", { ...digests, "link.mjs": digest })).toMatch(/ELOOP/);
  });
});
