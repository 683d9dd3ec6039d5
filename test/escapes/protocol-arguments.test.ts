import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf, type Server } from "../server.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";

interface Property {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly enum?: readonly unknown[];
}

interface Tool {
  readonly name: string;
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
}

let workspace: Workspace;
let server: Server;

beforeAll(async () => {
  workspace = await createWorkspace({ "a.txt": "hello" });
  server = await workspace.serve({ args: ["--mode", "classic"] });
});

afterAll(() => workspace.remove());

const listTools = async (): Promise<readonly Tool[]> => {
  const { result } = await server.request("tools/list");
  return result?.["tools"] as readonly Tool[];
};

const VALID: Readonly<Record<string, unknown>> = {
  string: "a.txt",
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
};

const NOT_NUMBERS = ["1", "NaN", "Infinity", "-1", "", null, [], [1], {}, true];

/** Values that the published schema rules out: what a model can read there is what must be enforced. */
const wrongValues = ({ type, minimum, maximum, minLength, enum: allowed }: Property): readonly unknown[] => {
  if (allowed !== undefined) return ["no_such_choice", 1, null, []];
  if (type === "string") return [5, null, [], ["a.txt"], {}, true, ...((minLength ?? 0) > 0 ? [""] : [])];
  if (type === "boolean") return ["true", 1, null, [], {}];
  if (type === "array") return ["a", 1, null, {}];
  if (type !== "integer" && type !== "number") return [];
  return [
    ...NOT_NUMBERS,
    ...(type === "integer" ? [1.5, 1e300] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1, 1e9 + maximum]),
  ];
};

const validArguments = ({ inputSchema: { properties = {}, required = [] } }: Tool): Record<string, unknown> =>
  Object.fromEntries(
    required.map((name) => [name, properties[name]?.enum?.[0] ?? VALID[properties[name]?.type ?? ""]]),
  );

interface Case {
  readonly tool: string;
  readonly field: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The documents allow null here; it means the same as leaving the field out. */
const MAY_BE_NULL = new Set(["expected_sha256", "file_glob"]);

const casesOf = (tool: Tool): readonly Case[] => {
  const { properties = {}, required = [] } = tool.inputSchema;
  const valid = validArguments(tool);
  const without = (name: string) => Object.fromEntries(Object.entries(valid).filter(([key]) => key !== name));
  return [
    ...required.map((field) => ({ field, args: without(field) })),
    { field: "no_such_field", args: { ...valid, no_such_field: 1 } },
    ...Object.entries(properties).flatMap(([field, property]) =>
      wrongValues(property)
        .filter((value) => value !== null || !MAY_BE_NULL.has(field))
        .map((value) => ({ field, args: { ...valid, [field]: value } })),
    ),
  ].map((one) => ({ tool: tool.name, ...one }));
};

describe("FAIL-D3 wrong arguments", () => {
  test("each tool names the field, for every way to get it wrong", async () => {
    const cases = (await listTools()).flatMap(casesOf);
    expect(cases.length).toBeGreaterThan(50);
    for (const { tool, field, args } of cases) {
      const what = `${tool} ${JSON.stringify(args)}`;
      const { error, meta } = failureOf(await server.call(tool, args));
      expect(["invalid_args", "INVALID_ARGS", "VALIDATION_ERROR"], what).toContain(meta.error_code);
      expect(error, what).toContain(field);
      if (field !== "no_such_field") expect(meta["field"], what).toBe(field);
      expect(meta.retryable, what).toBe(false);
    }
  });

  test.each([
    { tool: "read_file", args: { path: "a.txt", limit: -1 }, field: "limit" },
    { tool: "read_file", args: { path: "a.txt", limit: 0 }, field: "limit" },
    { tool: "read_file", args: { path: "a.txt", limit: 1e9 }, field: "limit" },
    { tool: "read_file", args: { path: "a.txt", limit: "NaN" }, field: "limit" },
    { tool: "read_file", args: { path: "a.txt", offset: -1 }, field: "offset" },
    { tool: "read_file", args: { path: null }, field: "path" },
    { tool: "read_file", args: { Path: "a.txt" }, field: "path" },
    { tool: "list_dir", args: { limit: 1e9 }, field: "limit" },
    { tool: "health", args: { verbose: true }, field: "verbose" },
  ])("$tool with $args names $field", async ({ tool, args, field }) => {
    const { error, meta } = failureOf(await server.call(tool, args));
    expect(meta.error_code).toBe("invalid_args");
    expect(error).toContain(field);
  });

  test.each([[], [1], "a.txt", "", 5, true, null].map((args) => ({ args })))(
    "arguments of the wrong shape are a protocol error: $args",
    async ({ args }) => {
      const { error } = await server.request("tools/call", { name: "read_file", arguments: args });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("arguments") });
    },
  );

  test.each([
    { method: "tools/call", params: {}, field: "name" },
    { method: "tools/call", params: { name: 5 }, field: "name" },
    { method: "tools/call", params: { name: ["read_file"] }, field: "name" },
    { method: "resources/read", params: {}, field: "uri" },
    { method: "resources/read", params: { uri: 1 }, field: "uri" },
    { method: "prompts/get", params: { name: "x", arguments: { a: 1 } }, field: "arguments" },
    { method: "completion/complete", params: { ref: { type: "other" }, argument: {} }, field: "ref" },
    { method: "logging/setLevel", params: { level: "loud" }, field: "level" },
  ])("$method with $params is a protocol error that names $field", async ({ method, params, field }) => {
    const { error } = await server.request(method, params);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(field) });
  });
});

const BIG = "Zq".repeat(1_000_000);

describe("FAIL-D10 an error never echoes a long input", () => {
  test.each([
    { title: "a path", method: "tools/call", params: { name: "read_file", arguments: { path: BIG } } },
    {
      title: "a limit",
      method: "tools/call",
      params: { name: "read_file", arguments: { path: "a.txt", limit: BIG } },
    },
    { title: "a key", method: "tools/call", params: { name: "read_file", arguments: { [BIG]: 1 } } },
    {
      title: "9,000 keys",
      method: "tools/call",
      params: {
        name: "read_file",
        arguments: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`${"Zq".repeat(100)}${i}`, 1])),
      },
    },
    {
      title: "arguments that are a text",
      method: "tools/call",
      params: { name: "read_file", arguments: BIG },
    },
    { title: "a tool name", method: "tools/call", params: { name: BIG } },
    { title: "a resource URI", method: "resources/read", params: { uri: `x://${BIG}` } },
    { title: "a subscription", method: "resources/subscribe", params: { uri: `x://${BIG}` } },
    { title: "a prompt name", method: "prompts/get", params: { name: BIG } },
    { title: "a prompt argument", method: "prompts/get", params: { name: "x", arguments: { [BIG]: 1 } } },
    {
      title: "9,000 prompt arguments",
      method: "prompts/get",
      params: {
        name: "x",
        arguments: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`Zq${i}`, 1])),
      },
    },
    { title: "a level", method: "logging/setLevel", params: { level: BIG } },
    { title: "a method", method: BIG, params: {} },
    { title: "a reference", method: "completion/complete", params: { ref: { type: BIG }, argument: {} } },
    {
      title: "a protocol version",
      method: "tools/list",
      params: { _meta: { "io.modelcontextprotocol/protocolVersion": BIG } },
    },
  ])("$title", async ({ method, params }) => {
    const logged = server.stderr.length;
    const answer = await server.request(method, params);
    const isFailure = answer.error !== undefined || answer.result?.["isError"] === true;
    // Only the last one may pass: the revision was settled in the handshake.
    if (method !== "tools/list") expect(isFailure).toBe(true);
    const text = JSON.stringify(answer.error ?? (isFailure ? answer.result : {}));
    expect(text.length).toBeLessThan(1024);
    expect(text).not.toContain("Zq".repeat(150));
    await server.request("ping");
    expect(server.stderr.slice(logged)).not.toContain("ZqZq");
  });

  test("a protocol version in the first message", async () => {
    const fresh = await workspace.serve({ handshake: false });
    const { error } = await fresh.request("tools/list", {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": BIG,
        "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    });
    expect(error).toBeDefined();
    expect(JSON.stringify(error).length).toBeLessThan(1024);
    await fresh.handshake();
  });
});
