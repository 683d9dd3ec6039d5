import { describe, expect, test } from "vitest";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import { asAsync } from "./async-embedder.ts";
import { createStaticEmbedder } from "./static-embedder.ts";

const embedder = createStaticEmbedder(readEmbedderFiles());
const port = asAsync(embedder);

describe("the port of embedders", () => {
  test("the static one answers through it as it does directly, in the order of the batch", async () => {
    const batch = ["open a file", "", "close a socket"].map((text, at) => ({ path: `src/p${at}.ts`, text }));
    expect(await port.embedChunks(batch)).toEqual(
      batch.map(({ path, text }) => embedder.embedChunk(path, text)),
    );
    expect(await port.embedQuery("open")).toEqual(embedder.embedQuery("open"));
    expect([port.id, port.dimensions]).toEqual([embedder.id, embedder.dimensions]);
  });

  test("a cancelled batch ends with the reason", async () => {
    const reason = new Error("enough");
    await expect(port.embedChunks([{ path: "a", text: "b" }], AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
  });
});
