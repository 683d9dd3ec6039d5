import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configDocs } from "../../scripts/config-docs.ts";
import { configJsonSchema } from "../../scripts/config-json-schema.ts";
import { TABLES } from "./sections.ts";
import { fullTemplate } from "./template.ts";

const SHOWN = TABLES.flatMap(({ entries }) => entries);

describe("REQ-C7: the JSON Schema for editors", () => {
  const schema = configJsonSchema();
  const at = (key: string): unknown =>
    key
      .split(".")
      .reduce<unknown>(
        (node, part) =>
          z.looseObject({ properties: z.record(z.string(), z.unknown()) }).parse(node).properties[part],
        schema,
      );

  it("describes every key with its type, bounds, choices and default", () => {
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(at("mcp.server.port")).toEqual({
      description: "Port to listen on; 0 picks a free one.",
      type: "integer",
      minimum: 0,
      maximum: 65_535,
      default: 8080,
    });
    expect(at("mcp.mode")).toMatchObject({
      enum: ["classic", "hybrid", "code_execution"],
      default: "hybrid",
    });
    expect(at("mcp.linux_ops.roots.allowed_roots")).toEqual({
      description: expect.stringContaining("left out"),
      type: "array",
      items: { type: "string" },
    });
    for (const { key, option } of SHOWN) {
      expect(at(key), key).toMatchObject({ description: expect.stringContaining(option.description) });
    }
  });

  it("accepts the defaults and refuses unknown keys, at every level", () => {
    const validator = z.fromJSONSchema(JSON.parse(JSON.stringify(schema)));
    expect(validator.safeParse(parse(fullTemplate().replaceAll(/^#(?! \S)/gm, ""))).error).toBeUndefined();
    for (const bad of [
      { x: 1 },
      { mcp: { x: 1 } },
      { mcp: { linux_ops: { x: 1 } } },
      { mcp: { tools: { x: 1 } } },
    ]) {
      expect(validator.safeParse(bad).success).toBe(false);
    }
  });
});

describe("REQ-C1: the reference page", () => {
  const page = configDocs();

  it("says that it is generated", () => {
    expect(page.split("\n").slice(0, 5).join("\n")).toContain("enerated by `npm run docs`");
  });

  it("has a section for each table and a well-formed row for each key", () => {
    for (const { path, description } of TABLES)
      expect(page).toContain(`## \`[${path}]\`\n\n${description}\n`);
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    expect(rows).toHaveLength(SHOWN.length);
    for (const row of rows) expect(row.replaceAll("\\|", "").split("|")).toHaveLength(8);
    for (const { name, option, variable } of SHOWN) {
      const row = rows.find((line) => line.includes(`\`${variable}\``));
      expect(row).toContain(`| \`${name}\` |`);
      expect(row?.includes("*restart*"), variable).toBe(option.restart === true);
    }
  });
});
