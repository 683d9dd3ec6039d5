import { describe, expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { MODES } from "./options.ts";

describe("what clients see of a tool", () => {
  test.each(MODES)(
    "REQ-D11: in %s mode no schema has a choice at its top, which some model APIs reject",
    async (mode) => {
      const { core } = await openTestApp();
      for (const { name, inputSchema } of await core.preview(mode)) {
        expect(Object.keys(inputSchema), name).not.toContain("oneOf");
        expect(Object.keys(inputSchema), name).not.toContain("anyOf");
        expect(Object.keys(inputSchema), name).not.toContain("$schema");
        expect(inputSchema.type, name).toBe("object");
      }
    },
  );

  test("REQ-D11: the choice is enforced nevertheless", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    const both = { path: "a.txt", old_text: "x", new_text: "y", edits: [{ old_text: "x", new_text: "y" }] };
    expect(await app.errorCode("linux_fs_edit", both)).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_fs_edit", { path: "a.txt" })).toBe("INVALID_ARGS");
  });

  test("REQ-D3 REQ-D13: every output is an object; only classic mode publishes its schema", async () => {
    const { core } = await openTestApp();
    for (const { name, outputSchema } of await core.preview("classic"))
      expect(outputSchema?.type, name).toBe("object");
    for (const { outputSchema } of await core.preview("hybrid")) expect(outputSchema).toBeUndefined();
  });

  test("REQ-D3: no success has a top-level error key, whatever a file contains", async () => {
    const app = await openTestApp({
      files: { "a.json": '{"error": "not one"}' },
      overrides: { "mcp.mode": "classic" },
    });
    for (const [tool, args] of [
      ["read_file", { path: "a.json" }],
      ["list_dir", {}],
      ["stat", { path: "a.json" }],
      ["linux_fs_read", { path: "a.json" }],
      ["linux_fs_list", { path: "." }],
      ["linux_search_content", { root: ".", pattern: "error" }],
      ["linux_search_files", { root: ".", pattern: "a" }],
      ["health", {}],
    ] as const) {
      const result = await app.ask(tool, args);
      expect(result.kind === "ok" && Object.keys(result.structured as object), tool).not.toContain("error");
    }
  });

  test("bounds and nulls that tell a model nothing are left out, and enforced", async () => {
    const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
    const text = JSON.stringify(app.core.listTools().map(({ inputSchema }) => inputSchema));
    expect(text).not.toContain('"null"');
    expect(text).not.toContain("2000000000");
    expect(await app.errorCode("read_file", { path: "" })).toBe("invalid_args");
    expect(await app.errorCode("read_file", { path: "x", offset: 3_000_000_000 })).toBe("invalid_args");
  });
});
