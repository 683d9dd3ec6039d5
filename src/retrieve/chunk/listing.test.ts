import { describe, expect, test } from "vitest";
import { languageOf } from "../../syntax/languages.ts";
import { chunkTerms } from "../terms/chunk-terms.ts";
import { cutListing, listingOf } from "./listing.ts";

const listing = (path: string, text: string) => listingOf(path, text, languageOf(path, text));
const vocabulary = (count: number): string =>
  Array.from({ length: count }, (_, at) => `word${at}`).join("\n");

describe("files that only list: REQ-R3", () => {
  test.each([
    "package-lock.json",
    "a/Cargo.lock",
    "yarn.lock",
    "pnpm-lock.yaml",
    "go.sum",
    "packages.lock.json",
    ".terraform.lock.hcl",
  ])("%s is a lock file", (path) => {
    expect(listing(path, "{}")).toContain("lock file");
  });

  test("a vocabulary is known by its shape, whatever it is called", () => {
    expect(listing("assets/vocab.txt", vocabulary(600))).toContain("list of words");
    expect(listing("assets/tokens", `# made by hand\n\n${vocabulary(600)}`)).toContain("list of words");
  });

  test.each([
    ["a short list", "requirements.txt", vocabulary(100)],
    ["prose", "notes.txt", "a line of prose\n".repeat(600)],
    ["code", "src/lock.ts", vocabulary(600)],
    ["data", "a.csv", vocabulary(600)],
  ])("%s is not", (_title, path, text) => {
    expect(listing(path, text)).toBeUndefined();
  });

  test("its chunk shows the beginning and has no terms", () => {
    const { chunks } = cutListing(vocabulary(600), languageOf("vocab.txt"));
    expect(chunks).toMatchObject([{ startLine: 1, endLine: 40, text: "" }]);
    for (const chunk of chunks) expect(chunkTerms("assets/vocab.txt", chunk)).toHaveLength(0);
    expect(cutListing("", languageOf("yarn.lock")).chunks).toEqual([]);
  });
});
