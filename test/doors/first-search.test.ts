import { describe, expect, test } from "vitest";
import { textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";
import { openHttpDoor } from "./http-door.ts";

const FILE_COUNT = 2500;

/** 25 MB of code: with one thread, several deadlines of indexing. */
const FILES = Object.fromEntries(
  Array.from({ length: FILE_COUNT }, (_, file) => [
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

interface Progress {
  readonly progressToken: string;
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

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

  test("the first indexing tells its progress to a client that gave a token, and a client without one is told nothing", async () => {
    await using workspace = await createWorkspace(FILES);
    const server = await workspace.serve({ args: ARGS });
    const search = (query: string, progressToken?: string) =>
      server.request("tools/call", {
        name: "rag_search",
        arguments: { query },
        ...(progressToken === undefined ? {} : { _meta: { progressToken } }),
      });
    const notified = () =>
      server.messages.flatMap(({ method, params }) =>
        method === "notifications/progress" ? (params as unknown as Progress) : [],
      );
    await search("count flamingos", "first-index");
    const steps = notified();
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.every(({ progressToken }) => progressToken === "first-index")).toBe(true);
    const done = steps.map(({ progress }) => progress);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(steps.every(({ total }) => total === undefined || total === FILE_COUNT)).toBe(true);
    expect(steps.at(-1)).toMatchObject({ message: expect.stringMatching(/./) });
    await search("count flamingos again");
    expect(notified().length).toBe(steps.length);
  });
});
