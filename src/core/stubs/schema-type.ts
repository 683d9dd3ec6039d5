import { isRecord } from "../../base/is-record.ts";

/** A JSON Schema as far as types can say it; both languages are printed from this. */
export type StubType =
  | { readonly is: "string" | "number" | "integer" | "boolean" | "null" | "any" }
  | { readonly is: "literal"; readonly values: readonly (string | number | boolean | null)[] }
  | { readonly is: "array"; readonly item: StubType }
  | { readonly is: "record"; readonly value: StubType }
  | { readonly is: "object"; readonly fields: readonly StubField[] }
  | { readonly is: "union"; readonly of: readonly StubType[] };

export interface StubField {
  readonly name: string;
  readonly type: StubType;
  readonly isRequired: boolean;
  readonly description: string;
}

const ANY: StubType = { is: "any" };
/** Deeper, or in a circle, a type is not worth its tokens. */
const MAX_DEPTH = 12;

type Node = Readonly<Record<string, unknown>>;

const SIMPLE = ["string", "number", "integer", "boolean", "null"] as const;

const isLiteral = (value: unknown): value is string | number | boolean | null =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

/** `#/$defs/name`, as schema libraries write it. */
const resolve = (root: Node, reference: string): unknown =>
  reference
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (node, part) => (isRecord(node) ? node[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
      root,
    );

const unionOf = (types: readonly StubType[]): StubType => {
  const flat = types.flatMap((type) => (type.is === "union" ? type.of : [type]));
  if (flat.some(({ is }) => is === "any")) return ANY;
  const different = [...new Map(flat.map((type) => [JSON.stringify(type), type])).values()];
  return different.length === 1 && different[0] !== undefined ? different[0] : { is: "union", of: different };
};

const fieldsOf = (node: Node, root: Node, depth: number): readonly StubField[] => {
  const { properties, required } = node;
  const names = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isRecord(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    type: read(schema, root, depth + 1),
    isRequired: names.has(name),
    description: isRecord(schema) && typeof schema["description"] === "string" ? schema["description"] : "",
  }));
};

const readObject = (node: Node, root: Node, depth: number): StubType => {
  const fields = fieldsOf(node, root, depth);
  const { additionalProperties: rest } = node;
  if (fields.length > 0 || rest === false) return { is: "object", fields };
  return { is: "record", value: isRecord(rest) ? read(rest, root, depth + 1) : ANY };
};

const readItems = ({ items, prefixItems }: Node, root: Node, depth: number): StubType => {
  const schemas = [...(Array.isArray(prefixItems) ? prefixItems : []), ...(isRecord(items) ? [items] : [])];
  return {
    is: "array",
    item: schemas.length === 0 ? ANY : unionOf(schemas.map((each) => read(each, root, depth + 1))),
  };
};

/** Fields of all parts together. Of anything else there is no common type that would be short. */
const readAll = (parts: readonly unknown[], root: Node, depth: number): StubType => {
  const types = parts.map((part) => read(part, root, depth + 1));
  return types.every((type) => type.is === "object")
    ? { is: "object", fields: types.flatMap(({ fields }) => fields) }
    : ANY;
};

const read = (schema: unknown, root: Node, depth: number): StubType => {
  if (!isRecord(schema) || depth > MAX_DEPTH) return ANY;
  const { $ref: reference, type, anyOf, oneOf, allOf } = schema;
  if (typeof reference === "string") return read(resolve(root, reference), root, depth + 1);
  if ("const" in schema)
    return isLiteral(schema["const"]) ? { is: "literal", values: [schema["const"]] } : ANY;
  const { enum: values } = schema;
  if (Array.isArray(values)) return values.every(isLiteral) ? { is: "literal", values } : ANY;
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  // Alternatives that only say which fields go together are not types.
  if (choices !== undefined && schema["properties"] === undefined)
    return unionOf(choices.map((choice) => read(choice, root, depth + 1)));
  if (Array.isArray(allOf)) return readAll(allOf, root, depth);
  if (Array.isArray(type)) return unionOf(type.map((one) => read({ ...schema, type: one }, root, depth + 1)));
  if (type === "array") return readItems(schema, root, depth);
  if (type === "object" || schema["properties"] !== undefined) return readObject(schema, root, depth);
  const simple = SIMPLE.find((name) => name === type);
  return simple === undefined ? ANY : { is: simple };
};

export const typeOfSchema = (schema: Readonly<Record<string, unknown>>): StubType => read(schema, schema, 0);

/** The arguments of a tool: always an object, with those that are needed first. */
export const argumentsOf = (schema: Readonly<Record<string, unknown>>): readonly StubField[] => {
  const type = typeOfSchema(schema);
  const fields = type.is === "object" ? type.fields : [];
  return [
    ...fields.filter(({ isRequired }) => isRequired),
    ...fields.filter(({ isRequired }) => !isRequired),
  ];
};
