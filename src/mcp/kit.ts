import { fromJsonSchema, UriTemplate } from "@modelcontextprotocol/server";
import type { ModuleKit } from "../core/custom-modules.ts";

/** Wraps a JSON Schema as a schema of a tool; the MCP library validates against it. */
export const jsonSchema: ModuleKit["jsonSchema"] = (schema) =>
  fromJsonSchema(schema as never) as ReturnType<ModuleKit["jsonSchema"]>;

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
