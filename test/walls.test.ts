import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../src");

/** Which room may import which. `tools` may also import types of the engines; `config` only `options.ts` of others. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  policy: ["base"],
  observe: ["base"],
  host: ["base", "policy", "observe"],
  syntax: ["base", "host"],
  symbols: ["base", "syntax"],
  retrieve: ["base", "host", "syntax", "symbols"],
  llm: ["base", "policy", "host", "observe"],
  rlm: ["base", "llm", "sandbox", "syntax", "symbols", "retrieve"],
  envelope: ["base", "policy", "host"],
  te: ["base", "host", "envelope", "config"],
  tools: ["base"],
  core: ["base", "policy", "observe", "tools"],
  link: ["base", "core", "host"],
  config: ["base"],
  mcp: ["base", "core", "link", "config"],
  http: ["base", "core", "link", "config"],
  cli: ["base", "core", "link", "config"],
};

/** Engines whose types (never values) tools may name. */
const ENGINES = ["host", "symbols", "retrieve", "envelope", "rlm"];

/** `wiring`, and the two programs beside it, put the rooms together and may import everything. */
const MAIN = "wiring";

const OS_MODULES =
  /^node:(fs|fs\/promises|child_process|net|http|https|http2|dgram|tls|vm|worker_threads|cluster)$/;
const MAY_TOUCH_OS = ["host", "sandbox", "link"];

/** npm packages by room. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  base: ["gpt-tokenizer"],
  policy: ["picomatch"],
  observe: [
    "pino",
    "prom-client",
    "@opentelemetry/api",
    "@opentelemetry/sdk-trace-base",
    "@opentelemetry/exporter-trace-otlp-http",
    "@opentelemetry/resources",
  ],
  host: ["@vscode/ripgrep", "ioredis", "koffi", "pg"],
  syntax: ["tree-sitter-wasm", "web-tree-sitter"],
  retrieve: ["picomatch", "usearch"],
  llm: ["@ai-sdk/anthropic", "@ai-sdk/google", "@ai-sdk/openai-compatible", "@pydantic/genai-prices"],
  tools: ["zod"],
  core: ["zod"],
  config: ["smol-toml", "toml-eslint-parser"],
  mcp: ["@modelcontextprotocol/server"],
  http: ["fastify", "@modelcontextprotocol/node", "@modelcontextprotocol/server", "ws", "zod"],
  cli: ["commander", "smol-toml", "toml-eslint-parser"],
};

interface Import {
  readonly file: string;
  readonly room: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

const sourceFiles = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return name.endsWith(".ts") && !name.endsWith(".test.ts") ? [path] : [];
  });

const roomOf = (path: string): string => {
  const parts = relative(SRC, path).split("/");
  return parts.length === 1 ? MAIN : (parts[0] ?? "");
};

const STATIC = /^(?:import|export)\s+(type\s+)?([^"';]*?\sfrom\s+)?"([^"]+)"/gms;
const DYNAMIC = /\bimport\(\s*"([^"]+)"/g;

/** `import { type A, type B }` imports no value either. */
const namesOnlyTypes = (clause: string): boolean => {
  const names = /\{([^}]*)\}/s.exec(clause)?.[1];
  if (
    names === undefined ||
    clause
      .replace(/\{[^}]*\}/s, "")
      .replace(/from/, "")
      .trim() !== ""
  )
    return false;
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .every((name) => name.startsWith("type "));
};

const importsOf = (file: string): Import[] => {
  const text = readFileSync(file, "utf8");
  const found = [
    ...[...text.matchAll(STATIC)].map(([, type, clause = "", target = ""]) => ({
      target,
      typeOnly: type !== undefined || namesOnlyTypes(clause),
    })),
    ...[...text.matchAll(DYNAMIC)].map(([, target = ""]) => ({ target, typeOnly: false })),
  ];
  return found.map((one) => ({ file, room: roomOf(file), ...one }));
};

const FILES = sourceFiles(SRC);
const IMPORTS = FILES.flatMap(importsOf);
const show = ({ file, target }: Import): string => `${relative(SRC, file)} imports ${target}`;
const local = IMPORTS.filter(({ target }) => target.startsWith("."));

describe("the walls of the house", () => {
  test("every room is in the table", () => {
    expect([...new Set(FILES.map(roomOf))].filter((room) => room !== MAIN && !(room in MAY_IMPORT))).toEqual(
      [],
    );
  });

  test("the imports are really found", () => {
    const found = IMPORTS.map(show);
    expect(found).toContain("core/call.ts imports ../policy/calls.ts");
    expect(found).toContain("observe/metrics.ts imports prom-client");
    expect(found).toContain("host/os/disk.ts imports node:fs/promises");
  });

  test("imports follow the table", () => {
    const broken = local.filter(({ file, room, target, typeOnly }) => {
      const path = resolve(dirname(file), target);
      const to = roomOf(path);
      if (room === MAIN || to === room) return false;
      if (MAY_IMPORT[room]?.includes(to)) return false;
      if (room === "tools" && typeOnly && ENGINES.includes(to)) return false;
      return !(room === "config" && path.endsWith("/options.ts"));
    });
    expect(broken.map(show)).toEqual([]);
  });

  test("there are no cycles", () => {
    const edges = new Map<string, string[]>();
    for (const { file, target } of local)
      edges.set(file, [...(edges.get(file) ?? []), resolve(dirname(file), target)]);
    const state = new Map<string, "open" | "done">();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === "done") return;
      if (state.get(file) === "open") {
        cycles.push([...path.slice(path.indexOf(file)), file].map((one) => relative(SRC, one)).join(" -> "));
        return;
      }
      state.set(file, "open");
      for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
      state.set(file, "done");
    };
    for (const file of FILES) visit(file, []);
    expect(cycles).toEqual([]);
  });

  test("only the host, the sandbox and the link touch the operating system", () => {
    const broken = IMPORTS.filter(
      ({ room, target, typeOnly }) => OS_MODULES.test(target) && !typeOnly && !MAY_TOUCH_OS.includes(room),
    );
    expect(broken.map(show)).toEqual([]);
  });

  test("npm packages are those of the room's list", () => {
    const packageOf = (target: string): string =>
      target
        .split("/")
        .slice(0, target.startsWith("@") ? 2 : 1)
        .join("/");
    const broken = IMPORTS.filter(
      ({ room, target, typeOnly }) =>
        !target.startsWith(".") &&
        !target.startsWith("node:") &&
        !typeOnly &&
        !PACKAGES[room]?.includes(packageOf(target)),
    );
    expect(broken.map(show)).toEqual([]);
  });

  test("only the wiring and the configuration read the environment", () => {
    const readers = FILES.filter((file) => /process\.env\b/.test(readFileSync(file, "utf8")));
    expect(readers.filter((file) => ![MAIN, "config"].includes(roomOf(file)))).toEqual([]);
  });

  test("no file grows past 400 lines, tables aside", () => {
    const long = FILES.filter((file) => !/(options|-table)\.ts$/.test(file)).filter(
      (file) => readFileSync(file, "utf8").split("\n").length > 400,
    );
    expect(long.map((file) => relative(SRC, file))).toEqual([]);
  });
});
