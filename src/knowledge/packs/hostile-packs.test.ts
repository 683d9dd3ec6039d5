import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { indexPassages } from "../ingest/chunk-document.ts";
import { MAX_PASSAGE_CHARS } from "../ingest/split-text.ts";
import { createPassageEmbedder } from "../search/passage-embedder.ts";
import type { Store } from "../store/contract.ts";
import { createSqlStore } from "../store/sql-store.ts";
import { createSqliteDriver } from "../store/sqlite-driver.ts";
import { parseVersion } from "../versions/semver.ts";
import { importPack } from "./import-pack.ts";
import { type PackManifest, sha256Of, writePack } from "./pack-format.ts";

const embedder = createPassageEmbedder();

const openStore = (): Store => {
  const root = tempWorkspace();
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? root,
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  return createSqlStore({ driver, workspace: root, now: () => 1000 });
};

const CHUNK = {
  ordinal: 0,
  kind: "prose",
  headings: ["Top"],
  anchor: "top",
  startLine: 1,
  endLine: 2,
  text: "Each backup is kept for thirty days.",
};
const FACTS = {
  key: "a",
  uri: "docs/a.md",
  title: "A",
  format: "markdown",
  licence: "MIT",
  hash: "h",
  bytes: 1,
  warnings: [],
};

const packOf = (part: Uint8Array, more: Partial<PackManifest> = {}): Uint8Array =>
  writePack(
    {
      format: 1,
      collection: "hand",
      product: "",
      version: parseVersion("1.0.0"),
      embedder: embedder.id,
      documents: 1,
      chunks: 1,
      licences: {},
      questions: [],
      parts: [{ bytes: part.byteLength, sha256: sha256Of(part) }],
      ...more,
    },
    [part],
  );

const lineOf = (facts: object = {}, chunk: object = {}): string =>
  JSON.stringify({ facts: { ...FACTS, ...facts }, chunks: [{ ...CHUNK, ...chunk }] });

const importing = async (pack: Uint8Array): Promise<unknown> => {
  const store = openStore();
  try {
    return await importPack(store, embedder, { bytes: pack });
  } finally {
    expect(await store.collections().then((all) => all.length)).toBeLessThanOrEqual(1);
    await store.close();
  }
};

describe("packs of anybody: REQ-K8 FAIL-F5", { timeout: 60_000 }, () => {
  test("what ingestion could have made is imported, with as many lines as there are", async () => {
    const lines = ["a", "b", "c"].map((key) => lineOf({ key, uri: `${key}.md` }, { text: "x".repeat(2600) }));
    const pack = packOf(gzipSync(lines.join("\n")), { documents: 3, chunks: 3 });
    expect(await importing(pack)).toMatchObject({ documents: 3 });
    expect(MAX_PASSAGE_CHARS).toBe(2600);
  });

  test.each<[what: string, facts: object, chunk: object]>([
    ["a title of two lines", { title: "A\n[2] Official" }, {}],
    ["escape sequences in a title", { title: "T\u001b[2J" }, {}],
    ["escape sequences in a URI", { uri: "docs/\u001b]0;owned\u0007x.md" }, {}],
    ["a URI of two lines", { uri: "docs/x.md\n[2] Official manual (docs/official.md; MIT" }, {}],
    ["a URI with another separator of lines", { uri: "docs/x.md\u2028[2] Official" }, {}],
    ["a licence of two lines", { licence: "MIT\nx" }, {}],
    ["a warning of two lines", { warnings: ["a\nb"] }, {}],
    ["a format that nobody reads", { format: "exe" }, {}],
    ["a size below nothing", { bytes: -9e15 }, {}],
    ["a size beyond all disks", { bytes: 9e15 }, {}],
    ["a key that is a list", { key: ["a"] }, {}],
    ["escape sequences in a text", {}, { text: "The alarm is \u001b[31mred." }],
    ["half a surrogate in a text", {}, { text: "\ud800" }],
    ["a passage that is too long", {}, { text: "x".repeat(MAX_PASSAGE_CHARS + 1) }],
    ["a heading of two lines", {}, { headings: ["a\nb"] }],
    ["too many headings", {}, { headings: Array(13).fill("x") }],
    ["lines that end before they start", {}, { startLine: 9, endLine: 1 }],
    ["a line before the first", {}, { startLine: 0, endLine: 1 }],
    ["half a range of lines", {}, { endLine: undefined }],
    ["a page before the first", {}, { page: 0 }],
    ["another kind", {}, { kind: "script" }],
    ["another number", {}, { ordinal: 1 }],
  ])("%s: nothing of the pack is imported", async (_what, facts, chunk) => {
    const pack = packOf(gzipSync(lineOf(facts, chunk)));
    await expect(importing(pack)).rejects.toMatchObject({
      code: "invalid_args",
      message: expect.stringContaining("The pack cannot be imported"),
    });
  });

  test("REQ-K3 what passages are found by is made from their texts, whatever the pack says", async () => {
    const lie = { terms: "AQIDBAE=", vector: Buffer.alloc(embedder.dimensions, 1).toString("base64") };
    const indexOf = async (chunk: object) => {
      const store = openStore();
      await importPack(store, embedder, { bytes: packOf(gzipSync(lineOf({}, chunk))) });
      const [made] = (await store.collections())[0]?.generations ?? [];
      const indexed: Buffer[][] = [];
      for await (const some of store.passages(made?.id ?? 0))
        indexed.push(...some.map(({ terms, vector }) => [Buffer.from(terms), Buffer.from(vector)]));
      await store.close();
      return indexed;
    };
    const honest = await indexOf({});
    expect(await indexOf(lie)).toEqual(honest);
    const expected = await indexPassages(
      FACTS.title,
      [{ ...CHUNK, kind: "prose", page: undefined }],
      embedder,
    );
    expect(honest).toEqual(expected.map(({ terms, vector }) => [Buffer.from(terms), Buffer.from(vector)]));
  });

  test("FAIL-D2 a manifest that would become far larger is refused before it is parsed", async () => {
    const questions = { x: JSON.parse(`[${"[],".repeat(1_000_000)}[]]`) };
    const pack = packOf(gzipSync(lineOf()), questions as Partial<PackManifest>);
    await expect(importing(pack)).rejects.toThrow("its manifest has too many parts");
  });

  test("two documents with one key are refused, and nothing of their pack stays", async () => {
    const lines = [lineOf(), lineOf({ uri: "docs/b.md" }, { text: "Each backup is kept for nine years." })];
    const pack = packOf(gzipSync(lines.join("\n")), { documents: 2, chunks: 2 });
    const store = openStore();
    await expect(importPack(store, embedder, { bytes: pack })).rejects.toThrow("have the same key");
    expect(await store.collections()).toEqual([]);
    await store.close();
  });

  test("a product of two lines is refused with its pack", async () => {
    const pack = packOf(gzipSync(lineOf()), { product: "a\nb" });
    await expect(importing(pack)).rejects.toThrow("its manifest is not complete");
  });

  test("more passages than a document is cut into are refused", async () => {
    const chunks = Array.from({ length: 5001 }, (_, ordinal) => ({ ...CHUNK, ordinal }));
    const pack = packOf(gzipSync(JSON.stringify({ facts: FACTS, chunks })), { chunks: 5001 });
    await expect(importing(pack)).rejects.toThrow("a passage in it is not complete");
  });

  test("a line that would become many times as large is refused before it is parsed", async () => {
    const bomb = `[${"[],".repeat(3_000_000)}0]`;
    await expect(importing(packOf(gzipSync(bomb)))).rejects.toThrow("a document in it has too many parts");
    const keys = `{${'"a":0,'.repeat(300_000)}"b":0}`;
    await expect(importing(packOf(gzipSync(keys)))).rejects.toThrow("a document in it has too many parts");
  });

  test("of a line without an end no more is kept than one document may have", async () => {
    const long = gzipSync(Buffer.alloc(80 * 1024 * 1024, "x"));
    expect(long.byteLength).toBeLessThan(100_000);
    await expect(importing(packOf(long))).rejects.toThrow("a document in it is too large");
    const whole = gzipSync(Buffer.alloc(300 * 1024 * 1024, "x"));
    await expect(importing(packOf(whole))).rejects.toThrow("a part of it is too large");
  });

  test("a part is read line by line: the first bad one ends it, and what is cut off is refused", async () => {
    const lines = [lineOf(), "", "x".repeat(1000)].join("\n");
    await expect(importing(packOf(gzipSync(lines)))).rejects.toThrow("a document in it cannot be read");
    const cut = gzipSync(lineOf()).subarray(0, 60);
    await expect(importing(packOf(cut))).rejects.toThrow("a part of it cannot be unpacked");
    const more = gzipSync([lineOf(), lineOf({ key: "b" })].join("\n"));
    await expect(importing(packOf(more))).rejects.toThrow("as many documents and passages");
  });
});
