import { z } from "zod";
import { withoutNull } from "./kind.ts";
import { type Entry, TABLES } from "./sections.ts";

interface ObjectSchema {
  type: "object";
  description?: string;
  additionalProperties: false;
  properties: Record<string, unknown>;
}

const objectSchema = (): ObjectSchema => ({ type: "object", additionalProperties: false, properties: {} });

const isObjectSchema = (value: unknown): value is ObjectSchema =>
  typeof value === "object" && value !== null && "properties" in value;

const propertyOf = ({ option }: Entry): Record<string, unknown> => {
  const { $schema, ...type } = z.toJSONSchema(withoutNull(option.schema));
  return {
    description: option.planned ? `${option.says} (not in force yet)` : option.says,
    ...type,
    ...(option.default === null ? {} : { default: option.default }),
  };
};

/** JSON Schema of llmc.toml, for editors. */
export const configJsonSchema = () => {
  const root = objectSchema();
  for (const { path, says, entries } of TABLES) {
    let node = root;
    for (const part of path.split(".")) {
      const known = node.properties[part];
      const child = isObjectSchema(known) ? known : objectSchema();
      node.properties[part] = child;
      node = child;
    }
    node.description = says;
    for (const entry of entries) node.properties[entry.name] = propertyOf(entry);
  }
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "llmc.toml", ...root };
};
