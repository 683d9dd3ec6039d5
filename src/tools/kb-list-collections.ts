import { z } from "zod";
import { definedOf, filtersInput, toFilters } from "./kb-shape.ts";
import { defineTool } from "./tool.ts";

export const kbListCollections = defineTool({
  name: "kb_list_collections",
  description: "List the knowledge bases.",
  effect: "read",
  family: "kb",
  backend: "knowledge bases",
  list: "collections",
  input: z.strictObject({ filters: filtersInput }),
  output: z.object({
    collections: z.array(
      z.object({
        name: z.string(),
        version: z.string().nullable(),
        pinned: z.boolean().optional(),
        flows: z.array(z.string()).optional(),
      }),
    ),
  }),
  run: async ({ filters }, { knowledge }, { caller }) => ({
    collections: (await knowledge.listCollections(toFilters(filters), caller)).map(({ flows, ...one }) =>
      definedOf({ ...one, ...(flows === undefined ? {} : { flows: [...flows] }) }),
    ),
  }),
  render: ({ collections }) =>
    collections.length === 0
      ? "no knowledge bases"
      : collections
          .map(
            ({ name, version, pinned, flows }) =>
              `${name} ${version ?? "(not promoted)"}${pinned === true ? " pinned" : ""}${flows === undefined ? "" : ` flows: ${flows.join(", ")}`}`,
          )
          .join("\n"),
});
