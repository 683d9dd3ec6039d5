/** What the walls allow: one table, which the test applies to `src` and which `planted.test.ts` tries to break. */
export interface WallTable {
  /** Which room may import which. */
  readonly mayImport: Readonly<Record<string, readonly string[]>>;
  /** Rooms of which `tools` may import types, never values. */
  readonly typesForTools: readonly string[];
  /** `node:` modules by room, beside the pure ones. */
  readonly nodeModules: Readonly<Record<string, readonly string[]>>;
  /** npm packages by room. */
  readonly packages: Readonly<Record<string, readonly string[]>>;
  /** Properties of `process` by room, beside the harmless ones. */
  readonly processProperties: Readonly<Record<string, readonly string[]>>;
  /** Global names of `REFUSED_GLOBALS` that a room may use nevertheless. */
  readonly globals: Readonly<Record<string, readonly string[]>>;
}

/** The programs beside `wiring`, and `wiring` itself, put the rooms together. */
export const WIRING = "wiring";

/** Rooms that reach the machine: every `node:` module, every global and every property of `process` is theirs. */
export const MACHINE_ROOMS: readonly string[] = ["host", "sandbox"];

/** Modules that compute and nothing else. */
export const PURE_NODE_MODULES: readonly string[] = [
  "node:buffer",
  "node:crypto",
  "node:events",
  "node:path",
  "node:stream",
  "node:string_decoder",
  "node:url",
  "node:util",
];

/** Names through which code reaches the machine, the network or the compiler without an import. */
export const REFUSED_GLOBALS: readonly string[] = [
  "fetch",
  "WebSocket",
  "EventSource",
  "XMLHttpRequest",
  "BroadcastChannel",
  "Worker",
  "eval",
  "Function",
  "require",
  "createRequire",
  "getBuiltinModule",
  "global",
  "globalThis",
];

/** Rooms that only compute: their answers depend on nothing but their arguments. */
export const PURE_ROOMS: readonly string[] = ["base", "policy"];

/** Time and randomness, which are refused in pure rooms. */
export const CLOCK_AND_CHANCE: readonly string[] = [
  "Date",
  "performance",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "crypto",
  "random",
  "randomBytes",
  "randomFill",
  "randomFillSync",
  "randomInt",
  "randomUUID",
  "generateKey",
  "generateKeySync",
  "generateKeyPair",
  "generateKeyPairSync",
  "generatePrime",
  "generatePrimeSync",
];

/** Properties of `process` that have no side effects. */
export const HARMLESS_PROCESS_PROPERTIES: readonly string[] = ["arch", "pid", "platform", "versions"];

const DOOR = ["base", "core", "link", "config"];
const ENTRY = [
  "argv",
  "cwd",
  "env",
  "execPath",
  "exit",
  "exitCode",
  "off",
  "on",
  "once",
  "stderr",
  "stdin",
  "stdout",
];

export const TABLE: WallTable = {
  mayImport: {
    base: [],
    policy: ["base"],
    observe: ["base"],
    host: ["base", "policy", "observe"],
    sandbox: ["base", "policy", "host", "observe"],
    syntax: ["base", "host"],
    symbols: ["base", "syntax"],
    retrieve: ["base", "policy", "host", "syntax", "symbols"],
    documents: ["base", "host"],
    knowledge: ["base", "host", "documents", "retrieve", "llm"],
    llm: ["base", "policy", "host", "observe"],
    rlm: ["base", "llm", "sandbox", "syntax", "symbols", "retrieve"],
    envelope: ["base", "policy", "host"],
    te: ["base", "host", "envelope", "config"],
    tools: ["base"],
    core: ["base", "policy", "observe", "tools"],
    link: ["base", "core", "host"],
    config: ["base"],
    mcp: DOOR,
    http: DOOR,
    cli: DOOR,
  },
  typesForTools: ["host", "sandbox", "symbols", "retrieve", "knowledge", "envelope", "rlm"],
  nodeModules: {
    tools: ["node:timers/promises"],
    retrieve: ["node:timers/promises"],
    // Decompresses members of archives in memory.
    documents: ["node:zlib"],
    knowledge: ["node:timers/promises", "node:zlib"],
    // The numbers of signals.
    envelope: ["node:os"],
    te: ["node:os"],
    link: ["node:http", "node:net"],
    wiring: ["node:os", "node:readline/promises", "node:stream/consumers"],
  },
  packages: {
    base: [],
    observe: [
      "pino",
      "prom-client",
      "@opentelemetry/api",
      "@opentelemetry/sdk-trace-base",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/resources",
    ],
    host: ["@vscode/ripgrep", "ioredis", "koffi", "pg"],
    sandbox: ["@jitl/quickjs-wasmfile-release-sync", "pyodide", "quickjs-emscripten-core"],
    syntax: ["web-tree-sitter"],
    retrieve: [],
    documents: ["github-slugger", "htmlparser2", "markdown-it", "smol-toml", "unpdf", "yaml"],
    knowledge: [],
    llm: ["@ai-sdk/anthropic", "@ai-sdk/google", "@ai-sdk/openai-compatible", "@pydantic/genai-prices"],
    tools: ["zod"],
    core: ["zod"],
    link: ["zod"],
    config: ["smol-toml", "toml-eslint-parser"],
    mcp: ["@modelcontextprotocol/server"],
    http: ["fastify", "@modelcontextprotocol/node", "@modelcontextprotocol/server", "ws", "zod"],
    cli: ["commander", "diff", "smol-toml", "toml-eslint-parser"],
  },
  // The program in `documents/reader` is a process of its own, which has nothing but these.
  processProperties: { wiring: ENTRY, documents: ["stdin", "stdout"] },
  // WebAssembly has no type in Node's library; the grammar loader takes it from the global object.
  globals: { syntax: ["globalThis"] },
};

/**
 * Words of a private dialect, refused in declared names and in file names, with what the field says instead. Whole parts of
 * a name are compared: `viewpoint` and `keepAlive` pass.
 */
export const DIALECT: Readonly<Record<string, string>> = {
  words: "argv, tokens, terms, path segments",
  looker: "indexer, scanner",
  weigh: "score, rank, measure",
  weighs: "score, rank, measure",
  weighed: "scored, ranked, measured",
  keeper: "indexer, store",
  ground: "write target, base directory",
  bench: "sandbox profile, runner",
  spot: "position, target",
  asides: "quarantined files, exceptions",
  glance: "quick read",
  census: "count, statistics",
  strangers: "unknown names, foreign files",
  trouble: "problem, error",
  most: "max…, limit",
  none: "no…, empty, nothing",
  place: "location, position, folder, path",
  places: "locations, positions, folders, paths",
  look: "check, scan, read",
  tell: "render, summarize, report, notify",
  told: "result, summary, report",
  said: "message, output, result",
  says: "detail, summary, description",
};
