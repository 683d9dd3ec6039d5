import { expect, test } from "vitest";
import { refuseParamHeaders } from "./param-headers.ts";

const TOOL = {
  name: "route_it",
  description: "Routes.",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      size: { type: "integer", "x-mcp-header": "Size" },
      where: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry" } } },
      note: { type: "string" },
    },
  },
} as const;

const refuse = (args: unknown, headers: Record<string, string>, name = "route_it", method = "tools/call") =>
  refuseParamHeaders(
    () => [TOOL],
    { jsonrpc: "2.0", id: 7, method, params: { name, arguments: args } },
    new Headers(headers),
  );

test.each([
  ["no mirrored argument", { note: "x" }, {}],
  ["the same text", { region: "eu" }, { "mcp-param-region": "eu" }],
  ["the same text in Base64", { region: "Zürich" }, { "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=" }],
  [
    "half a Base64 wrapper, which is text",
    { region: "=?base64?eA==" },
    { "Mcp-Param-Region": "=?base64?eA==" },
  ],
  ["the same number, written otherwise", { size: 42 }, { "Mcp-Param-Size": "42.0" }],
  ["a nested argument", { where: { dry: true } }, { "Mcp-Param-Dry": "true" }],
  ["null, which needs no header", { region: null }, {}],
  ["a header without an argument", {}, { "Mcp-Param-Region": "eu" }],
  ["arguments of the wrong type, which the schema refuses", ["eu"], {}],
])("REQ-D10 passes %s", async (_what, args, headers) => {
  expect(await refuse(args, headers)).toBeUndefined();
});

test.each([
  ["another text", { region: "eu" }, { "Mcp-Param-Region": "us" }],
  ["a missing header", { region: "eu" }, {}],
  ["Base64 without its padding", { region: "Hello" }, { "Mcp-Param-Region": "=?base64?SGVsbG8?=" }],
  ["letters that are no Base64", { region: "Hello" }, { "Mcp-Param-Region": "=?base64?SGVs!!!bG8=?=" }],
  ["another number", { size: 42 }, { "Mcp-Param-Size": "43" }],
  ["an empty header for zero", { size: 0 }, { "Mcp-Param-Size": "" }],
  ["another nested argument", { where: { dry: true } }, { "Mcp-Param-Dry": "false" }],
])("REQ-D10 refuses %s", async (_what, args, headers) => {
  const response = await refuse(args, headers);
  expect(response?.status).toBe(400);
  expect(await response?.json()).toMatchObject({ id: 7, error: { code: -32020 } });
});

test("REQ-D1 the dotted alias of a tool is checked like its name", async () => {
  expect((await refuse({ region: "eu" }, {}, "route.it"))?.status).toBe(400);
});

test("REQ-D10 other tools and methods pass", async () => {
  expect(await refuse({ region: "eu" }, {}, "other")).toBeUndefined();
  expect(await refuse({ region: "eu" }, {}, "route_it", "prompts/get")).toBeUndefined();
  expect(await refuseParamHeaders(() => [TOOL], undefined, new Headers())).toBeUndefined();
});
