import { describe, expect, test } from "vitest";
import type { ChunkKind } from "../chunk/chunk.ts";
import { documentsAnswer } from "./documents-answer.ts";

const found = (kind: ChunkKind, score: number, relevance: number) => ({ kind, score, relevance });

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
