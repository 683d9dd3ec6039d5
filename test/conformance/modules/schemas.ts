import type { ModuleKit } from "../../../src/core/custom-modules.ts";

const KEYWORDS = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const MIRRORED = {
  type: "object",
  properties: { region: { type: "string", "x-mcp-header": "Region" } },
  additionalProperties: false,
};

/** Hand-written JSON Schemas: one with every keyword that must survive, one whose argument is mirrored in a header. */
export const register = (kit: ModuleKit): void => {
  kit.tool({
    name: "json_schema_2020_12_tool",
    description: "Takes what JSON Schema 2020-12 can describe.",
    effect: "read",
    input: kit.jsonSchema(KEYWORDS),
    run: async (args) => args,
    render: (args) => JSON.stringify(args),
  });
  kit.tool({
    name: "test_mirrored_argument",
    description: "Takes an argument that intermediaries read from a header.",
    effect: "read",
    input: kit.jsonSchema(MIRRORED),
    run: async (args) => args,
    render: (args) => JSON.stringify(args),
  });
};
