import { fromJsonSchema, UriTemplate } from "@modelcontextprotocol/server";
import { isRecord } from "../base/is-record.ts";
import type { ModuleKit } from "../core/custom-modules.ts";

/** The same values in objects that inherit nothing. */
const withoutInherited = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutInherited);
  if (!isRecord(value)) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [name, inner] of Object.entries(value)) copy[name] = withoutInherited(inner);
  return copy;
};

/**
 * Wraps a JSON Schema as a schema of a tool; the MCP library validates against it. To the library, a property called
 * `constructor` is there in every object that inherits one.
 */
export const jsonSchema: ModuleKit["jsonSchema"] = (schema) => {
  const made = fromJsonSchema(schema as never) as ReturnType<ModuleKit["jsonSchema"]>;
  const standard = made["~standard"];
  const validate: typeof standard.validate = async (value) => {
    const judged = await standard.validate(withoutInherited(value));
    return judged.issues === undefined ? { value } : judged;
  };
  return { ...made, "~standard": { ...standard, validate } };
};

export const matchTemplate = (
  template: string,
  uri: string,
): Readonly<Record<string, string>> | undefined => {
  const variables = new UriTemplate(template).match(uri);
  if (variables === null) return undefined;
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value]),
  );
};
