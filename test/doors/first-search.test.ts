import { describe, expect, test } from "vitest";
import { textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";
import { openHttpDoor } from "./http-door.ts";

/** 25 MB of code: with one thread, several deadlines of indexing. */
const FILES = Object.fromEntries(
  Array.from({ length: 2500 }, (_, file) => [
    `src/part${file % 50}/birds${file}.ts`,
    Array.from(
      { length: 100 },
      (_line, n) =>
        `export const countFlamingos${file}x${n} = (pond: string[]): number => pond.length + ${n};\n`,
    ).join(""),
  ]),
);

const ARGS = ["--set", "mcp.request_timeout_seconds=3", "--set", "mcp.rag.index_threads=1"];
const PARTIAL =
  /^\[Not indexed yet, and not found: ([\d,]+ of 2,500 files|files that are still being listed)\./;

describe("REQ-R11 the first search of a large workspace answers before its deadline", () => {
  test("over stdio, with what is not indexed yet in its first line", async () => {
    await using workspace = await createWorkspace(FILES);
    const server = await workspace.serve({ args: ARGS });
    for (const query of ["count flamingos", "count flamingos again"]) {
      const result = await server.call("rag_search", { query });
      expect(result.isError ?? false).toBe(false);
      expect(textOf(result)).toMatch(PARTIAL);
    }
  });

  test("over HTTP", async () => {
    await using door = await openHttpDoor({ files: FILES, args: ["--mode", "classic", ...ARGS] });
    const response = await door.tool("rag_search", { query: "count flamingos" });
    expect(response.status).toBe(200);
    const { meta } = (await response.json()) as {
      readonly meta: { readonly index: string; readonly notes: readonly string[] };
    };
    expect(meta.index).toBe("building");
    expect(`[${meta.notes[0]}`).toMatch(PARTIAL);
  });
});
