import { expect, test } from "vitest";
import { createPassageEmbedder } from "./passage-embedder.ts";

test("only prose takes the table that was trained on prose: tables and code take the other one, REQ-K3", () => {
  const { embedPassage, embedQuery } = createPassageEmbedder().tables;
  const text = "replication lag of the standby server";
  const [prose, code, data] = (["prose", "code", "data"] as const).map((kind) => embedPassage(kind, text));
  expect(data).toEqual(code);
  expect(prose).not.toEqual(code);
  const query = embedQuery(text);
  expect(query.prose).not.toEqual(query.code);
});
