import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { allTools } from "../../src/tools/all.ts";
import { tempWorkspace } from "../app.ts";
import { cleanEnv, launcher } from "../workspace.ts";

const SRC = resolve(import.meta.dirname, "../../src");

/** Runs in the program before its own first line: notes every module that is loaded, in order, and every built-in one. */
const NOTE_MODULES = `
import { registerHooks } from "node:module";
import { writeFileSync } from "node:fs";
const loaded = [];
registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
const name = process.argv[1].replace(/^.*[/]/, "");
process.on("exit", () => writeFileSync(process.env.NOTED + "/" + name, JSON.stringify(loaded)));
`;

const REQUESTS = [
  {
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "start", version: "1.0.0" },
    },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/list" },
];

interface Start {
  /** Names of the tools in the answer. */
  readonly listed: readonly string[];
  /** What was loaded until then: files of ours from `src/` on, everything else by its address. */
  readonly loaded: readonly string[];
}

/** The forms of the server, and the program that does the work in each. */
const ONE_PROCESS = {
  form: "one process",
  flags: ["--set", "mcp.subprocess=false"],
  program: "supervise.ts",
} as const;
const CORE = { form: "the core", flags: [], program: "serve-core.ts" } as const;

/** A client that asks for the list and leaves. */
const start = async (
  { flags, program }: typeof ONE_PROCESS | typeof CORE,
  ...args: readonly string[]
): Promise<Start> => {
  const [root, noted] = [tempWorkspace(), tempWorkspace()];
  const child = spawn(launcher, ["serve", "--stdio", "--root", root, ...flags, ...args], {
    env: {
      ...cleanEnv(),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(NOTE_MODULES)}`,
      NOTED: noted,
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const text = child.stdout.setEncoding("utf8").toArray();
  child.stdin.end(REQUESTS.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  const lines = (await text).join("").trim().split("\n");
  const answers = lines.map((line) => JSON.parse(line) as { id?: number; result?: { tools?: object[] } });
  const tools = answers.find(({ id }) => id === 2)?.result?.tools as readonly { readonly name: string }[];
  const urls = JSON.parse(readFileSync(join(noted, program), "utf8")) as readonly string[];
  // Engines are loaded a while after the start, which a busy machine may not see the end of before that.
  const engines = urls.indexOf(`file://${SRC}/wiring/engines.ts`);
  return {
    listed: tools.map(({ name }) => name),
    loaded: (engines < 0 ? urls : urls.slice(0, engines)).map((url) => url.replace(`file://${SRC}/`, "src/")),
  };
};

/** `linux_fs_read` lives in `linux-fs-read.ts`, which a test of the list holds. */
const fileOf = (name: string): string =>
  `src/tools/${name.replace(/^\d+_/, "").toLowerCase().replaceAll("_", "-")}.ts`;

describe.each([ONE_PROCESS, CORE])("what a client waits for: $form", (form) => {
  test("REQ-P5: a start in hybrid mode loads the tools that it lists, and no others", async () => {
    const { listed, loaded } = await start(form);
    expect(listed).toContain("linux_fs_edit");
    expect(listed.map(fileOf).filter((file) => !loaded.includes(file))).toEqual([]);
    const hidden = allTools.map(({ name }) => name).filter((name) => !listed.includes(name));
    expect(hidden).toContain("linux_search_content");
    expect(hidden.map(fileOf).filter((file) => loaded.includes(file))).toEqual([]);
  });

  test("REQ-P5: a tool that is promoted is loaded with its mode", async () => {
    const { listed, loaded } = await start(form, "--set", "mcp.hybrid.promoted_tools=stat");
    expect(listed).toContain("stat");
    expect(loaded).toContain("src/tools/stat.ts");
    expect(loaded).not.toContain("src/tools/run-cmd.ts");
  });
});

// The core also loads what its socket takes, which no client waits for: the front lists from what the last start left.
describe("what a client of one process waits for", () => {
  test.each(["hybrid", "classic"])(
    "REQ-P5: a start in %s mode loads no engine and no large library",
    async (mode) => {
      const { loaded } = await start(ONE_PROCESS, "--mode", mode);
      expect(loaded).toContain("src/core/call.ts");
      const large =
        /node_modules\/(@ai-sdk|@opentelemetry|@pydantic|@vscode|better-sqlite3|commander|fastify|gpt-tokenizer|ioredis|koffi|pg|prom-client|smol-toml|toml-eslint-parser|tree-sitter-wasm|usearch|web-tree-sitter|ws)\//;
      expect(loaded.filter((url) => large.test(url))).toEqual([]);
      expect(loaded.filter((url) => /\/zod\/v4\/locales\/(?!en\.|index\.)/.test(url))).toEqual([]);
      // What is being written is known to the configuration, too, and loads nothing else.
      const rooms =
        /^src\/(host\/(run\/(?!live-writers)|read|reach|state|processes|search|write)|symbols|syntax|retrieve\/(?!options)|envelope\/(?!options|settings)|http\/(?!options|auth\/scopes)|llm\/(?!options|model-name|providers\.))/;
      expect(loaded.filter((url) => rooms.test(url))).toEqual([]);
      expect(loaded.filter((url) => /^node:(sqlite|http|https|child_process|crypto)$/.test(url))).toEqual([]);
    },
  );
});
