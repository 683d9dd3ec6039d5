import type { Kind } from "../src/base/option.ts";
import { type Entry, TABLES } from "../src/config/sections.ts";

interface ObjectSchema {
  type: "object";
  description?: string;
  additionalProperties: false;
  properties: Record<string, unknown>;
}

const objectSchema = (): ObjectSchema => ({ type: "object", additionalProperties: false, properties: {} });

const isObjectSchema = (value: unknown): value is ObjectSchema =>
  typeof value === "object" && value !== null && "properties" in value;

const typeOf = (kind: Kind): Record<string, unknown> => {
  switch (kind.is) {
    case "flag":
      return { type: "boolean" };
    case "whole":
      return { type: "integer", minimum: kind.min, maximum: kind.max };
    case "decimal":
      return { type: "number", minimum: kind.min, maximum: kind.max };
    case "choice":
      return { type: "string", enum: kind.values };
    case "text":
      return { type: "string", ...(kind.shape === undefined ? {} : { pattern: kind.shape.pattern.source }) };
    case "list":
      return { type: "array", items: typeOf({ ...kind, is: "text" }) };
  }
};

const propertyOf = ({ option }: Entry): Record<string, unknown> => ({
  description: option.description,
  ...typeOf(option.kind),
  ...(option.default === null ? {} : { default: option.default }),
});

/** JSON Schema of llmc.toml, for editors. */
export const configJsonSchema = () => {
  const root = objectSchema();
  for (const { path, description, entries } of TABLES) {
    let node = root;
    for (const part of path.split(".")) {
      const known = node.properties[part];
      const child = isObjectSchema(known) ? known : objectSchema();
      node.properties[part] = child;
      node = child;
    }
    node.description = description;
    for (const entry of entries) node.properties[entry.name] = propertyOf(entry);
  }
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "llmc.toml", ...root };
};
