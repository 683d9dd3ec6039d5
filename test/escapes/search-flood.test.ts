import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import { createSearch } from "../../src/host/search/search.ts";

const FILES = 100;
const LINES = 10_000;
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

let workspace: string;

beforeAll(() => {
  workspace = mkdtempSync(join(tmpdir(), "llmc-flood-"));
  const text = "needle\n".repeat(LINES);
  for (let i = 0; i < FILES; i++) writeFileSync(join(workspace, `f${String(i).padStart(3, "0")}.txt`), text);
});

afterAll(() => {
  rmSync(workspace, { recursive: true, force: true });
});

it("FAIL-B4 REQ-F6 a million hits: exact total, the first page, a handle, bounded memory", async () => {
  const reach = createReach({ workspace, roots: () => ["."], denylist: () => ["**/.env"] });
  const lines = { count: 0, last: "" };
  const search = createSearch({
    reach,
    files: createFiles(reach),
    timeoutMs: () => 20_000,
    handles: {
      put: async (_owner, _kind, _source, all) => {
        for await (const block of all) {
          const each = block.split("\n");
          lines.count += each.length;
          lines.last = each.at(-1) ?? "";
        }
        return "h_flood";
      },
    },
  });
  const query = {
    root: ".",
    pattern: "needle",
    fileGlob: undefined,
    literal: false,
    ignoreCase: true,
    ignoreFiles: true,
    contextLines: 2,
    maxResults: 100,
  };
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  const owner = { principal: "local" };
  const answers = [await search.content(query, owner), await search.content(query, owner)];
  clearInterval(watch);
  for (const answer of answers) {
    expect(answer).toMatchObject({
      totalHits: FILES * LINES,
      totalFiles: FILES,
      exact: true,
      handle: "h_flood",
    });
    expect(answer.hits).toHaveLength(100);
    expect(answer.hits.every(({ path, line }, i) => path === "f000.txt" && line === i + 1)).toBe(true);
  }
  expect(lines).toEqual({ count: 200_002, last: "[900000 more hits are not stored]" });
  expect(peak - before).toBeLessThan(MAX_GROWTH_BYTES);
});
