import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { TABLE } from "./table.ts";
import { violationsIn, type Wall } from "./walls.ts";

type Files = Readonly<Record<string, string>>;

const violationsOf = (files: Files) => {
  const root = mkdtempSync(join(tmpdir(), "llmc-walls-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return violationsIn(root, TABLE);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

/** The walls that a tree breaks, with the number of violations. */
const brokenBy = (files: Files): Partial<Record<Wall, number>> =>
  Object.fromEntries(
    Object.entries(violationsOf(files))
      .filter(([, found]) => found.length > 0)
      .map(([wall, found]) => [wall, found.length]),
  );

const lines = (count: number): string => "  void 0;\n".repeat(count);

/** A tree that keeps to the rules, and comes close to many of them. */
const SOUND: Files = {
  "base/error.ts": "export const fail = (): void => {};\n",
  "policy/paths.ts":
    'import { sep } from "node:path";\nexport const now = (at: Date): string => sep + String(at);\n',
  "host/reach/reach.ts": 'import type { Read } from "../read/contract.ts";\nexport type Reach = Read;\n',
  "host/read/contract.ts": "export type Read = string;\n",
  "host/run/run.ts":
    'import { spawn } from "node:child_process";\nexport const run = () => [spawn, fetch, process.getBuiltinModule];\n',
  "tools/tool.ts":
    'import { z } from "zod";\nimport type { Reach } from "../host/reach/reach.ts";\n' +
    "export const tool = (options: { fetch: (at: Reach) => void; keepAlive: boolean }) => options.fetch(String(z));\n",
  "config/load.ts": 'import { OPTIONS } from "../tools/options.ts";\nexport const load = () => [OPTIONS];\n',
  "tools/options.ts": `export const OPTIONS = () => {\n${lines(400)}};\n`,
  "wiring/app.ts":
    'import { run } from "../host/run/run.ts";\nimport { tool } from "../tools/tool.ts";\n' +
    "export const app = () => [run, tool, process.argv, process.platform];\n",
  "main.ts": 'const app = await import("./wiring/app.ts");\nprocess.exitCode = app === undefined ? 1 : 0;\n',
};

test("a sound tree breaks no wall", () => {
  expect(violationsOf(SOUND)).toEqual(
    Object.fromEntries(Object.keys(violationsOf({})).map((wall) => [wall, []])),
  );
});

const inTool = (text: string): Files => ({ ...SOUND, "tools/planted.ts": text });

test.each<[string, Wall, Files]>([
  ["a room that is not in the table", "imports", { "attic/a.ts": "export {};" }],
  ["an import outside the table", "imports", { ...SOUND, "policy/a.ts": 'import "../host/run/run.ts";' }],
  [
    "a re-export outside the table",
    "imports",
    { ...SOUND, "base/a.ts": 'export * from "../policy/paths.ts";' },
  ],
  [
    "a dynamic import",
    "imports",
    { ...SOUND, "base/a.ts": 'export const a = () => import("../policy/paths.ts");' },
  ],
  [
    "an imported type",
    "imports",
    { ...SOUND, "base/a.ts": 'export type A = import("../policy/paths.ts").A;' },
  ],
  [
    "a tool that imports a value of an engine",
    "imports",
    inTool('import { run } from "../host/run/run.ts"; run;'),
  ],
  [
    "a door that imports tools",
    "imports",
    { ...SOUND, "mcp/a.ts": 'import type { tool } from "../tools/tool.ts";' },
  ],
  [
    "a door that imports another door",
    "imports",
    { "http/a.ts": 'import "../mcp/b.ts";', "mcp/b.ts": "export {};" },
  ],
  ["config beside options.ts", "imports", { ...SOUND, "config/a.ts": 'import "../tools/tool.ts";' }],
  ["a package that is not listed", "modules", inTool('import pino from "pino"; pino;')],
  ["a package without node:", "modules", inTool('import fs from "fs"; fs;')],
  ["node:fs in a tool", "modules", inTool('import { readFileSync } from "node:fs"; readFileSync;')],
  ["node:sqlite in a tool", "modules", inTool('import { DatabaseSync } from "node:sqlite"; DatabaseSync;')],
  ["node:dns in a tool", "modules", inTool('import dns from "node:dns"; dns;')],
  ["node:worker_threads in retrieve", "modules", { "retrieve/a.ts": 'export * from "node:worker_threads";' }],
  ["node:process in a tool", "modules", inTool('import process2 from "node:process"; process2;')],
  ["node:module in a tool", "modules", inTool('import { Module } from "node:module"; Module;')],
  ["node:http for a listener in the HTTP door", "modules", { "http/a.ts": 'import "node:http";' }],
  ["a dynamically imported module", "modules", inTool('await import("node:fs");')],
])("refused: %s", (_what, wall, files) => {
  expect(brokenBy(files)).toEqual({ [wall]: 1 });
});

test.each([
  'await fetch("https://example.org");',
  "const { fetch: send } = globalThis; send;",
  'const request = fetch; request("x");',
  'new WebSocket("wss://example.org");',
  'new EventSource("https://example.org");',
  'process.getBuiltinModule("node:child_process");',
  'process["getBuiltinModule"]("node:fs");',
  "process[`binding`];",
  'process["get" + "BuiltinModule"]("node:fs");',
  "const { getBuiltinModule: load } = process; load;",
  "const p = process; p;",
  "Reflect.get(process, 'dlopen');",
  'process.binding("fs");',
  "process.dlopen({}, 'a.node');",
  "process.kill(1);",
  'require("node:fs");',
  'globalThis["fet" + "ch"]("x");',
  "global.fetch;",
  "(globalThis as { process: unknown }).process;",
  'eval("1");',
  '(0, eval)("1");',
  'new Function("return process")();',
  'Function("return process")();',
  '(() => {}).constructor("return process")();',
  '(async () => {})["constructor"]("return process")();',
  'const name = "node:fs"; await import(name);',
  'await import("node:" + "fs");',
  "process.env;",
  "const shown = { process }; shown;",
  "const run = (process: { exit(): void }) => process.exit(); run;",
])("refused in a tool: %s", (text) => {
  expect(Object.keys(brokenBy(inTool(`${text}\nexport {};\n`)))).toEqual(["machine access"]);
});

test("refused: createRequire, beside its module", () => {
  const files = inTool('import { createRequire as load } from "node:module";\nload("/");\n');
  expect(brokenBy(files)).toEqual({ modules: 1, "machine access": 1 });
});

test.each(["process.env", "process['env']", "process.cwd()", "process.stdout"])(
  "the environment and the streams belong to the wiring: %s",
  (text) => {
    expect(Object.keys(brokenBy({ "core/a.ts": `${text};\nexport {};` }))).toEqual(["machine access"]);
  },
);

test.each([
  "Date.now()",
  "new Date()",
  "performance.now()",
  "crypto.randomUUID()",
  "Math.random()",
  "setTimeout(() => {}, 1)",
])("policy has no clock and no chance: %s", (text) => {
  expect(Object.keys(brokenBy({ "policy/a.ts": `${text};\nexport {};` }))).toEqual(["machine access"]);
});

test("refused: a cycle of files, of types too", () => {
  const files = {
    "base/a.ts": 'import type { B } from "./b.ts";\nexport type A = B;',
    "base/b.ts": 'import { c } from "./c.ts";\nexport type B = typeof c;',
    "base/c.ts": 'export type { A } from "./a.ts";\nexport const c = 1;',
  };
  expect(violationsOf(files)["file cycles"]).toEqual(["cycle of files: base/a.ts, base/b.ts, base/c.ts"]);
});

test("refused: a cycle of folders without one of files, of types too", () => {
  const files = {
    "host/read/a.ts": 'import type { B } from "../write/b.ts";\nexport type A = B;',
    "host/write/b.ts": "export type B = 1;",
    "host/write/c.ts": 'import { d } from "../read/d.ts";\nexport const c = d;',
    "host/read/d.ts": "export const d = 1;",
  };
  expect(brokenBy(files)).toEqual({ "folder cycles": 2 });
});

test("refused: a cycle between a room's top folder and a folder in it", () => {
  const files = {
    "host/a.ts": 'import { b } from "./read/b.ts";\nexport const a = b;',
    "host/c.ts": "export const c = 1;",
    "host/read/b.ts": 'import { c } from "../c.ts";\nexport const b = c;',
  };
  expect(brokenBy(files)).toEqual({ "folder cycles": 2 });
});

test("refused: a file above 300 lines and a function above 100", () => {
  expect(brokenBy({ "base/a.ts": `${"export {};\n".repeat(301)}` })).toEqual({ "long files": 1 });
  expect(brokenBy({ "base/a.ts": `${"export {};\n".repeat(300)}` })).toEqual({});
  expect(brokenBy({ "base/a.ts": `export const a = () => {\n${lines(99)}};` })).toEqual({
    "long functions": 1,
  });
  expect(brokenBy({ "base/a.ts": `export function a() {\n${lines(98)}}` })).toEqual({});
});

test.each([
  ["a file", { "base/keeper.ts": "export {};" }],
  ["a constant", { "base/a.ts": "export const ownWords = 1;" }],
  ["a function", { "base/a.ts": "export function weigh() {}" }],
  ["a parameter", { "base/a.ts": "export const a = (spot: string) => spot;" }],
  ["a destructured parameter", { "base/a.ts": "export const a = ({ b: glance = 1 }) => glance;" }],
  ["a type", { "base/a.ts": "export interface Looker { readonly a: 1 }" }],
  ["a field", { "base/a.ts": "export interface A { readonly asides: 1 }" }],
  ["a method", { "base/a.ts": "export class A { bench() {} }" }],
  ["a constant of a test", { "base/a.test.ts": "const told = 1; export { told };" }],
  ["a test", { "base/own-words.test.ts": "export {};" }],
])("refused: a word of the private dialect as %s", (_what, files) => {
  expect(brokenBy(files as unknown as Files)).toEqual({ dialect: 1 });
});

test("a word of another name's making is not dialect", () => {
  expect(
    brokenBy({ "base/a.ts": 'export const keywords = "words weigh spot"; export const background = 1;' }),
  ).toEqual({});
});
