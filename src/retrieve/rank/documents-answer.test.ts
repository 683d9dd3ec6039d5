import { describe, expect, test } from "vitest";
import type { ChunkKind } from "../chunk/chunk.ts";
import { documentsAnswer, withDocument } from "./documents-answer.ts";

const found = (kind: ChunkKind, score: number, relevance: number, path = "a") => ({
  kind,
  path,
  score,
  relevance,
});

describe("REQ-R4 whether documents answer a question that names no scope", () => {
  test.each([
    ["documents that rank far ahead", [found("prose", 1, 1), found("code", 0.6, 0.9)]],
    ["documents that fit, where code hardly does", [found("code", 1, 0.45), found("prose", 0.95, 0.9)]],
    ["documents where there is no code", [found("prose", 1, 0.4)]],
  ])("%s do", (_title, ranked) => {
    expect(documentsAnswer(ranked)?.some(({ kind }) => kind === "prose")).toBe(true);
  });

  test.each([
    ["documents that rank little ahead of code that fits", [found("prose", 1, 1), found("code", 0.95, 0.9)]],
    ["documents that fit as badly as code", [found("code", 1, 0.5), found("prose", 0.9, 0.6)]],
    ["documents that are not there", [found("code", 1, 0.4), found("data", 0.5, 0.2)]],
    [
      "documents, where the third piece of code fits",
      [found("code", 1, 0.4), found("prose", 0.9, 0.9), found("data", 0.9, 0.3), found("code", 0.8, 0.8)],
    ],
  ])("%s do not", (_title, ranked) => {
    expect(documentsAnswer(ranked)).toBeUndefined();
  });

  test("code that fits as well stays, and other code is left out", () => {
    const ranked = [found("prose", 1, 0.9), found("code", 0.7, 0.85), found("code", 0.6, 0.45)];
    expect(documentsAnswer(ranked)).toEqual(ranked.slice(0, 2));
  });
});

describe("REQ-R4 a place for documents beside code", () => {
  const code = [1, 0.9, 0.8, 0.7].map((score) => found("code", score, 0.9, "src/a.ts"));
  const guide = found("prose", 1, 0.9, "docs/guide.md");

  test("the best document that fits takes the last place that is shown", () => {
    const answer = withDocument(code, [found("prose", 1, 0.6, "docs/other.md"), guide], 3);
    expect(answer.map(({ path, score }) => [path, score])).toEqual([
      ["src/a.ts", 1],
      ["src/a.ts", 0.9],
      ["docs/guide.md", 0.9],
      ["src/a.ts", 0.8],
      ["src/a.ts", 0.7],
    ]);
  });

  test.each([
    ["of few places, none is given away", [guide], 2],
    ["a document that hardly fits gets none", [found("prose", 1, 0.6, "docs/guide.md")], 3],
    ["a text that tests read gets none", [found("prose", 1, 0.9, "test/fixtures/guide.md")], 3],
  ])("%s", (_title, documents, shown) => {
    expect(withDocument(code, documents, shown)).toEqual(code);
  });
});
