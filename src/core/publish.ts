import { isRecord } from "../base/is-record.ts";
import type { Effect, Tool } from "../tools/tool.ts";

export interface PublishedTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  readonly outputSchema?: { readonly type: "object"; readonly [key: string]: unknown };
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** MCP's own defaults are the pessimistic ones (not read-only, destructive, open world): only differences are sent. */
const ANNOTATIONS: Readonly<Record<Effect, Readonly<Record<string, boolean>>>> = {
  read: { readOnlyHint: true, openWorldHint: false },
  write: { destructiveHint: true, openWorldHint: false },
  execute: { destructiveHint: true },
  egress: { readOnlyHint: true, openWorldHint: true },
};

/** A limit this large is useless to a model; zod emits one for every unbounded integer. */
const NO_BOUNDS = 1_000_000_000;

const isNull = (node: unknown): boolean => isRecord(node) && node["type"] === "null";

/** A model can omit the field instead of sending null, so null is not published; it is still accepted. */
const withoutNull = (node: Record<string, unknown>): Record<string, unknown> => {
  const { type } = node;
  if (Array.isArray(type) && type.length === 2 && type.includes("null"))
    return { ...node, type: type.find((one) => one !== "null") };
  const { anyOf, ...rest } = node;
  if (!Array.isArray(anyOf) || !anyOf.some(isNull)) return node;
  const others = anyOf.filter((one) => !isNull(one));
  return others.length === 1 && isRecord(others[0]) ? { ...others[0], ...rest } : { ...rest, anyOf: others };
};

/** Omitted from the schema, because the server enforces it and models rarely send empty names or lists. */
const GOES_WITHOUT_SAYING: readonly (readonly [key: string, value: unknown])[] = [
  ["minLength", 1],
  ["minItems", 1],
];

const slimInput = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(slimInput);
  if (!isRecord(node)) return node;
  return Object.fromEntries(
    Object.entries(withoutNull(node))
      .filter(([key, value]) => !GOES_WITHOUT_SAYING.some(([name, bound]) => key === name && value === bound))
      .map(([key, value]) => [key, slimInput(value)]),
  );
};

const slim = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(slim);
  if (!isRecord(node)) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(
        ([key, value]) => !((key === "minimum" || key === "maximum") && Math.abs(Number(value)) >= NO_BOUNDS),
      )
      .map(([key, value]) => [key, slim(value)]),
  );
};

const asObjectSchema = (schema: Record<string, unknown>): PublishedTool["inputSchema"] => ({
  type: "object",
  ...schema,
});

/** Schemas that a library wrote lose the `$schema` line (about 15 tokens a tool); hand-written JSON Schema stays as it is. */
const published = (schema: Tool["input"], side: "input" | "output"): PublishedTool["inputSchema"] => {
  const standard = schema["~standard"];
  const json = standard.jsonSchema[side]({ target: "draft-2020-12" });
  if (standard.vendor !== "zod") return asObjectSchema(json);
  const { $schema: _dialect, ...rest } = json;
  return asObjectSchema(slim(side === "input" ? slimInput(rest) : rest) as Record<string, unknown>);
};

/** Made once for each tool: a schema takes a good part of a millisecond. */
const once = (make: (tool: Tool) => PublishedTool): ((tool: Tool) => PublishedTool) => {
  const made = new WeakMap<Tool, PublishedTool>();
  return (tool) => {
    const known = made.get(tool) ?? make(tool);
    made.set(tool, known);
    return known;
  };
};

const withoutOutput = once((tool) => ({
  name: tool.name,
  ...(tool.title === undefined ? {} : { title: tool.title }),
  description: tool.description,
  inputSchema: published(tool.input, "input"),
  annotations: ANNOTATIONS[tool.effect],
}));

const withOutput = once((tool) =>
  tool.output === undefined
    ? withoutOutput(tool)
    : { ...withoutOutput(tool), outputSchema: published(tool.output, "output") },
);

/** Exactly one of some fields, in JSON Schema. */
const choiceOf = (fields: readonly string[]) => ({
  oneOf: fields.map((field) => ({
    required: [field],
    not: { anyOf: fields.filter((other) => other !== field).map((other) => ({ required: [other] })) },
  })),
});

interface PublishOptions {
  readonly outputSchema: boolean;
  /** Some model APIs reject a whole request for a choice at the top of a schema (REQ-D11). */
  readonly oneOf?: boolean;
  /** What applies where a field is left out, as the operator configured it. */
  readonly defaults?: Readonly<Record<string, number>> | undefined;
}

/** The schema with the operator's defaults in place of the built-in ones. */
const withDefaults = (
  schema: PublishedTool["inputSchema"],
  defaults: Readonly<Record<string, number>>,
): PublishedTool["inputSchema"] => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries((schema["properties"] ?? {}) as Record<string, object>).map(([name, property]) => [
      name,
      Object.hasOwn(defaults, name) ? { ...property, default: defaults[name] } : property,
    ]),
  ),
});

/** What a client sees of a tool. Only classic mode publishes output schemas (REQ-D13). */
export const publishTool = (
  tool: Tool,
  { outputSchema, oneOf = false, defaults }: PublishOptions,
): PublishedTool => {
  const builtIn = outputSchema ? withOutput(tool) : withoutOutput(tool);
  const made =
    defaults === undefined
      ? builtIn
      : { ...builtIn, inputSchema: withDefaults(builtIn.inputSchema, defaults) };
  return oneOf && tool.exclusive !== undefined
    ? { ...made, inputSchema: { ...made.inputSchema, ...choiceOf(tool.exclusive) } }
    : made;
};
