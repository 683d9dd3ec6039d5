import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { readTestSource, type TestSources, testParser } from "../../../test/knowledge-documents.ts";
import { LlmcError, toLlmcError } from "../../base/error.ts";
import type { DocumentParser, SourceItem } from "../../documents/contract.ts";
import { createPassageEmbedder } from "../search/passage-embedder.ts";
import type { Store } from "../store/contract.ts";
import { createSqlStore } from "../store/sql-store.ts";
import { createSqliteDriver } from "../store/sqlite-driver.ts";
import { parseVersion } from "../versions/semver.ts";
import { ingest } from "./ingest.ts";
import type { IngestParts } from "./ingest-source.ts";

const embedder = createPassageEmbedder();

const openParts = async (sources: TestSources) => {
  const root = tempWorkspace();
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? root,
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const store = createSqlStore({ driver, workspace: root, now: () => Date.now() });
  onTestFinished(() => store.close());
  await store.createCollection("hand", "");
  const parts: IngestParts = {
    store,
    embedder,
    parser: testParser,
    readSource: readTestSource(sources),
    sourceOptions: () => ({
      denylist: [],
      closed: [],
      network: undefined,
      maxDocumentBytes: 1e6,
      maxDocuments: 1e6,
      timeoutMs: 1000,
    }),
    uriOf: (source, id) => `${source}/${id}`,
  };
  const add = (more: Partial<IngestParts> = {}, version = "1.0.0") =>
    ingest({ ...parts, ...more }, { collection: "hand", version, sources: Object.keys(sources) });
  return { store, parts, add };
};

const generationOf = async (store: Store, version = "1.0.0"): Promise<number> => {
  const [collection] = await store.collections();
  return collection?.generations.find((one) => one.version === version)?.id ?? -1;
};

const PAGES = { "https://x.test/a": "# A\nThe page a.", "https://x.test/b": "# B\nThe page b." };

/** A sitemap whose pages are given, in which some fail. */
const sitemap = (failing: readonly string[], extra: readonly SourceItem[] = []): IngestParts["readSource"] =>
  async function* () {
    const error = new LlmcError("unavailable", "The server does not answer.");
    for await (const item of readTestSource({ site: PAGES })("site", {} as never))
      yield failing.includes(item.id)
        ? { kind: "failure", id: item.id, url: item.id, error }
        : { ...item, url: item.id };
    yield* extra;
  };

test("REQ-K1 FAIL-F5: a page that fails is named by its address, and its failure goes when it is read", async () => {
  const { store, add } = await openParts({ site: {} });
  await add({ readSource: sitemap([]) });
  const failed = await add({ readSource: sitemap(["https://x.test/a"]) });
  expect(failed).toMatchObject({ removed: [], failed: [{ uri: "https://x.test/a" }] });
  const again = await add({ readSource: sitemap([]) });
  expect(again).toMatchObject({ added: ["https://x.test/a"], removed: [], failed: [] });
  expect(await store.failures(await generationOf(store))).toEqual([]);
});

test("REQ-K1 FAIL-F5: of a source that was not read to its end nothing is removed", async () => {
  const { add } = await openParts({ site: {} });
  await add({ readSource: sitemap([]) });
  const error = new LlmcError("unavailable", "The server does not answer.");
  const part = async function* (): AsyncGenerator<SourceItem> {
    yield {
      kind: "failure",
      id: "https://x.test/two.xml",
      url: "https://x.test/two.xml",
      error,
      isIncomplete: true,
    };
  };
  expect(await add({ readSource: part })).toMatchObject({ removed: [], failed: [{}] });
  expect(await add({ readSource: sitemap([]) })).toMatchObject({ unchanged: 2, added: [] });
  const nothing = async function* (): AsyncGenerator<SourceItem> {};
  expect((await add({ readSource: nothing })).removed).toEqual(Object.keys(PAGES));
});

test("REQ-K1 FAIL-F5: a page in the place of a sitemap takes the place of none of its pages", async () => {
  const { store, add } = await openParts({ site: {} });
  await add({ readSource: sitemap([]) });
  const page: IngestParts["readSource"] = (_, options) =>
    readTestSource({ site: { site: "# Sorry\nUnder maintenance." } })("site", options);
  await expect(add({ readSource: page })).rejects.toMatchObject({ code: "unavailable" });
  const left = await store.documents(await generationOf(store));
  expect(left.map(({ uri }) => uri).toSorted()).toEqual(Object.keys(PAGES));
});

test("REQ-K1 FAIL-F5: a document that fails takes none of another source along, whatever they are called", async () => {
  const sources = { one: { "a.md": "# A\nThe first." }, two: { "a.md": "# A\nThe second." } };
  const { store, add } = await openParts(sources);
  const alike = { uriOf: (_source: string, id: string) => `docs/${id}` };
  await add(alike);
  const failing: IngestParts["readSource"] = async function* (source, options) {
    const error = new LlmcError("file_too_large", "The document is too large.");
    if (source === "one") yield { kind: "failure", id: "a.md", error };
    else yield* readTestSource(sources)(source, options);
  };
  expect(await add({ ...alike, readSource: failing })).toMatchObject({ failed: [{ uri: "docs/a.md" }] });
  const left = await store.documents(await generationOf(store));
  expect(left.map(({ source }) => source)).toEqual(["two"]);
});

test("REQ-K1 FAIL-F5: what could not be read of a document is in the report, also where nothing is left of it", async () => {
  const { add } = await openParts({
    docs: { "a.md": "# A\nText.", "b.md": "# B\nText.", "c.md": "# C\nText." },
  });
  const parser: DocumentParser = {
    parse: async (input) => {
      const parsed = await testParser.parse(input);
      if (input.name === "a.md") return { ...parsed, sections: [] };
      return input.name === "b.md" ? { ...parsed, warnings: ["Page 3 is damaged."] } : parsed;
    },
  };
  expect(await add({ parser })).toMatchObject({
    added: ["docs/a.md", "docs/b.md", "docs/c.md"],
    failed: [],
    warned: [
      { uri: "docs/a.md", warnings: ["It has no text."] },
      { uri: "docs/b.md", warnings: ["Page 3 is damaged."] },
    ],
  });
});

test("REQ-K1: a document that was collected while it was linked is parsed again", async () => {
  const { store, add } = await openParts({ docs: { "a.md": "# A\nText." } });
  await add();
  await store.removeDocuments(await generationOf(store), [
    ...(await store.documents(await generationOf(store))).map(({ key }) => key),
  ]);
  let links = 0;
  const collected: Store = {
    ...store,
    linkDocument: async () => {
      links++;
      throw new LlmcError("busy", "The document was removed while it was added.", { retryable: true });
    },
  };
  expect(await add({ store: collected })).toMatchObject({ added: ["docs/a.md"], failed: [] });
  expect(links).toBe(1);
});

test("REQ-K1: documents wait for their turn as long as it takes; the parser bounds each by itself", async () => {
  const { add } = await openParts({ docs: { "a.md": "# A\nText.", "b.md": "# B\nText." } });
  const signals: (AbortSignal | undefined)[] = [];
  const parser: DocumentParser = {
    parse: (input, signal) => {
      signals.push(signal);
      return testParser.parse(input, signal);
    },
  };
  expect((await add({ parser })).added).toHaveLength(2);
  // Only the caller's own signal, of which there is none here.
  expect(signals).toEqual([undefined, undefined]);
});

test("REQ-K1: a version that was begun with another embedder is not continued with this one", async () => {
  const { store, parts, add } = await openParts({ docs: { "a.md": "# A\nText." } });
  await store.openGeneration("hand", parseVersion("1.0.0"), { embedder: "another", base: undefined });
  await expect(add()).rejects.toMatchObject({
    code: "unavailable",
    hint: expect.stringContaining("--version"),
  });
  await expect(ingest(parts, { collection: "hand", sources: ["docs"], dryRun: true })).rejects.toMatchObject({
    code: "unavailable",
  });
  expect((await add({}, "1.1.0")).added).toEqual(["docs/a.md"]);
});

test("REQ-K1: names that differ only in an escape are two documents, and nothing changes when they are read again", async () => {
  const { store, add } = await openParts({
    docs: { "a\nb.md": "# One\nalpha", "a%0Ab.md": "# Two\nbeta", "50%.md": "# Three\ngamma" },
  });
  const uris = ["docs/50%.md", "docs/a%0Ab.md", "docs/a%250Ab.md"];
  expect((await add()).added).toEqual(uris);
  expect(await add()).toMatchObject({ added: [], changed: [], removed: [], unchanged: 3 });
  const documents = await store.documents(await generationOf(store));
  expect(documents.map(({ uri }) => uri).toSorted()).toEqual(uris);
});

test("FAIL-D5: a run that is stopped while it waits for another one is cancelled, and no defect", async () => {
  const { add, parts } = await openParts({ docs: { "a.md": "# A\nThe page a." } });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: parsing, resolve: isParsing } = Promise.withResolvers<void>();
  const slow: DocumentParser = {
    parse: async (input, signal) => {
      isParsing();
      await released;
      return testParser.parse(input, signal);
    },
  };
  const first = add({ parser: slow });
  await parsing;
  const stop = new AbortController();
  const request = { collection: "hand", version: "1.0.0", sources: ["docs"], signal: stop.signal };
  // Called when the run knows of the document, which the other one has.
  const second = ingest(parts, { ...request, onProgress: () => setTimeout(() => stop.abort(), 50) });
  expect(toLlmcError(await second.catch((thrown: unknown) => thrown))).toMatchObject({ code: "cancelled" });
  release();
  expect((await first).added).toEqual(["docs/a.md"]);
});

test("REQ-K1 FAIL-F6: a run that could read nothing does not take the version from one that is still reading", async () => {
  const { parts, store } = await openParts({ docs: { "a.md": "# A\nThe page a." } });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const failing: IngestParts["readSource"] = async function* () {
    begun[0].resolve();
    await gates[0].promise;
    yield* [];
    throw new LlmcError("unavailable", "The source does not answer.");
  };
  const slow: IngestParts["readSource"] = async function* (...args) {
    yield* parts.readSource(...args);
    begun[1].resolve();
    await gates[1].promise;
  };
  const run = (readSource: IngestParts["readSource"], source: string) =>
    ingest({ ...parts, readSource }, { collection: "hand", version: "1.0.0", sources: [source] });
  const first = run(failing, "away");
  await begun[0].promise;
  const second = run(slow, "docs");
  await begun[1].promise;
  gates[0].resolve();
  await expect(first).rejects.toMatchObject({ code: "unavailable" });
  gates[1].resolve();
  expect((await second).added).toEqual(["docs/a.md"]);
  expect(await store.documents(await generationOf(store))).toMatchObject([{ uri: "docs/a.md" }]);
});
