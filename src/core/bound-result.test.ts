import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import type { ContentBlock } from "../tools/contract.ts";
import { boundContent, checkStructured } from "./bound-result.ts";

const text = (characters: string): ContentBlock => ({ type: "text", text: characters });
const image = (bytes: number): ContentBlock => ({
  type: "image",
  data: "A".repeat(bytes),
  mimeType: "image/png",
});

const sizeOf = (content: readonly ContentBlock[]): number => Buffer.byteLength(JSON.stringify(content));

describe("REQ-I7: a result is at most 100 MB", () => {
  it("texts share one bound", () => {
    const { content, truncated } = boundContent([text("a".repeat(900)), text("b".repeat(900))], 1000);
    expect(truncated).toBe(true);
    expect(content[0]).toEqual(text("a".repeat(900)));
    expect(content[1]).toEqual(text(`${"b".repeat(100)}\n[cut: 100 of 900 bytes; ask for a smaller part]`));
  });

  it("a block that does not fit is left out, and named; what follows is not", () => {
    const { content, truncated } = boundContent([image(600), image(600), image(100), text("end")], 100, 1000);
    expect(truncated).toBe(true);
    expect(content).toEqual([
      image(600),
      text("[left out: image of 600 bytes, more than a result may have]"),
      image(100),
      text("end"),
    ]);
  });

  it("whatever the blocks are, they stay within the bounds but for the notes", () => {
    const blocks = fc.array(
      fc.oneof(
        fc.string({ maxLength: 2000, unit: "grapheme" }).map(text),
        fc.nat(2000).map(image),
        fc
          .nat(2000)
          .map(
            (size): ContentBlock => ({ type: "resource", resource: { uri: "x:y", text: "é".repeat(size) } }),
          ),
      ),
      { maxLength: 10 },
    );
    fc.assert(
      fc.property(blocks, (given) => {
        const { content } = boundContent(given, 1000, 5000);
        const bytes = content.map((block) => {
          if (block.type === "text")
            return Buffer.byteLength(block.text.replace(/\n?\[(?:cut|left out): .*/, ""));
          if (block.type === "resource")
            return Buffer.byteLength("text" in block.resource ? block.resource.text : "");
          return block.type === "image" ? block.data.length : 0;
        });
        expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(5000);
        expect(content).toHaveLength(given.length);
      }),
      { numRuns: 200 },
    );
  });

  it("a text is bounded by what it is in JSON, too", () => {
    const { content } = boundContent("\u0001".repeat(900), 1000, 1000);
    expect(sizeOf(content)).toBeLessThan(1200);
  });

  it("structured content is measured exactly at the bound", () => {
    const at = { data: "x".repeat(1000 - JSON.stringify({ data: "" }).length) };
    expect(() => checkStructured(at, 1000)).not.toThrow();
    expect(() => checkStructured({ data: `${at.data}x` }, 1000)).toThrow("1001 bytes");
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(() => checkStructured(value, bytes)).not.toThrow();
        if (bytes > 1) expect(() => checkStructured(value, bytes - 1)).toThrow();
      }),
    );
  });

  it("holds for a tool that returns more", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\n[mcp.tools]\ncustom_modules = "mods"\n',
      files: {
        "mods/n.mjs": `export const register = ({ tool, z }) => {
          tool({ name: "huge", description: "x", effect: "read", input: z.strictObject({}),
            output: z.object({ data: z.string() }), run: () => ({ data: "x".repeat(105_000_000) }), render: () => "short" });
          tool({ name: "images", description: "x", effect: "read", input: z.strictObject({}),
            run: () => [0, 1].map(() => ({ type: "image", data: "A".repeat(60_000_000), mimeType: "image/png" })),
            render: (blocks) => blocks });
          tool({ name: "both", description: "x", effect: "read", input: z.strictObject({}),
            output: z.object({ data: z.string() }), run: () => ({ data: "x".repeat(60_000_000) }),
            render: () => [{ type: "image", data: "A".repeat(60_000_000), mimeType: "image/png" }] });
        };`,
      },
    });
    expect(await app.errorCode("huge")).toBe("file_too_large");
    const result = await app.ask("images");
    if (result.kind !== "ok") throw new Error(JSON.stringify(result));
    expect(result.truncated).toBe(true);
    expect(sizeOf(result.content)).toBeLessThan(104_857_600);
    const both = await app.ask("both");
    if (both.kind !== "ok") throw new Error(JSON.stringify(both));
    expect(both.truncated).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(both))).toBeLessThan(105_000_000);
  });
});

test("FAIL-H2 a structured result has a bounded number of values, whatever their size", () => {
  expect(() => checkStructured({ list: Array(299_000).fill(0) })).not.toThrow();
  expect(() => checkStructured({ list: Array(1000).fill(Array(400).fill([])) })).toThrow("values");
});
