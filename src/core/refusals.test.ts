import { expect, test } from "vitest";
import { explainKnowledge } from "./refusals.ts";

test.each([
  ["team-notes", "team-notes"],
  ["--help", "NAME"],
  ["a; id", "NAME"],
  ["$(id)", "NAME"],
  ["", "NAME"],
])("REQ-I4 the command that explains a refusal names %j by %s: it can be typed as it is", (id, word) => {
  expect(explainKnowledge("kb_search", "Collection", id)).toBe(
    `llmc policy explain kb_search --collection ${word}`,
  );
});
