import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shareTestApp, TEST_CALLER, tempWorkspace } from "../../test/app.ts";
import { readTestSource, type TestSources, testParser } from "../../test/knowledge-documents.ts";
import { createCaches } from "../base/caches.ts";
import { LlmcError } from "../base/error.ts";
import { loadNearestRows } from "../retrieve/embed/nearest-rows.ts";
import type { Hit } from "./api/contract.ts";
import { renderEvaluation } from "./evaluate/evaluation-page.ts";
import { createKnowledge } from "./knowledge.ts";
import { createOperator } from "./operator.ts";
import { readPack, writePack } from "./packs/pack-format.ts";
import { createPassageEmbedder } from "./search/passage-embedder.ts";
import { createSqlStore } from "./store/sql-store.ts";
import { createSqliteDriver } from "./store/sqlite-driver.ts";
import { parseVersion } from "./versions/semver.ts";

const embedder = createPassageEmbedder();
const ALL = { permitCollection: () => {}, permitFlow: () => {} };
const CALL = { caller: ALL, correlationId: "c" };

const HANDBOOK = {
  "install.md":
    "# Install\nRun the installer with administrator rights. The installer needs two gigabytes of disk space.\n\n# Remove\nTo uninstall the program, delete its folder and run the cleanup script.",
  "backup.md":
    "# Backups\nBackups are taken every night at two o'clock. Each backup is kept for thirty days.\n\n# Restore\nTo restore a backup, stop the database, copy the archive and start the database again.",
};

/** What caches take for the time. */
const clock = { now: 0 };

/** How long collections may be asked. */
const asking = { maxMs: 60_000 };

const openKnowledge = (sources: TestSources, root = tempWorkspace()) => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? root,
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const cache = createCaches({ maxBytes: () => 1e7, now: () => clock.now }).open<readonly Hit[]>("kb", 0);
  const engine = createKnowledge({
    store: createSqlStore({ driver, workspace: root, now: () => Date.now() }),
    embedder,
    nearestRows: loadNearestRows(),
    cache: { get: cache.peek, set: cache.put },
    maxIndexBytes: () => 1024 ** 3,
    maxAskMs: () => asking.maxMs,
    openModel: async () => undefined,
    modelLimits: () => ({ maxOutputTokens: 100, timeoutMs: 1000 }),
    flows: () => [],
    holder: "test",
    newCode: () => "code",
    now: () => Date.now(),
  });
  const operator = createOperator({
    engine,
    ingestParts: async () => ({
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
    }),
    thresholds: () => ({ minRecall: 0.5, maxDrop: 0.05 }),
    now: () => Date.now(),
  });
  const add = (name: string, version?: string, names = Object.keys(sources), dryRun = false) =>
    operator.add(name, names, { version, dryRun }, {});
  const search = (query: string, more: object = {}) =>
    engine.hybridSearch({ collection: "hand", query, top_k: 3, ...more }, ALL);
  return { engine, operator, add, search, root };
};

const promoted = async (documents: Readonly<Record<string, string>> = HANDBOOK) => {
  const sources: TestSources = { docs: documents };
  const opened = openKnowledge(sources);
  await opened.operator.create("hand", "Widget");
  await opened.add("hand", "1.0.0");
  await opened.operator.promote("hand", undefined, { force: false });
  return { ...opened, sources };
};

describe("ingestion: REQ-K1", () => {
  test("only what changed is read again; a dry run says what would be, and changes nothing", async () => {
    const { add, operator, search, sources, engine } = await promoted();
    expect(await add("hand", "1.0.1", ["docs"], true)).toMatchObject({
      unchanged: 2,
      added: [],
      changed: [],
    });
    sources["docs"] = {
      "install.md": "# Install\nUse the package manager.",
      "new.md": "# New\nSomething new.",
    };
    const expected = { added: ["docs/new.md"], changed: ["docs/install.md"], removed: ["docs/backup.md"] };
    expect(await add("hand", "1.1.0", ["docs"], true)).toMatchObject({ ...expected, dryRun: true });
    expect((await operator.list())[0]?.generations).toHaveLength(1);
    expect(await add("hand", "1.1.0")).toMatchObject(expected);
    expect(await add("hand", "1.1.0")).toMatchObject({ added: [], changed: [], removed: [], unchanged: 2 });
    const notYet = {
      message: "Version 1.1.0 of the knowledge base hand is not promoted yet.",
      hint: "The operator promotes it with: llmc kb promote hand 1.1.0",
    };
    await expect(search("x", { filters: { version: "1.1.0" } })).rejects.toMatchObject(notYet);
    await expect(operator.pin("hand", "1.1.0")).rejects.toMatchObject(notYet);
    await expect(operator.pin("hand", "9.9.9")).rejects.toMatchObject({
      message: "hand has no version 9.9.9.",
    });
    // Until it is promoted, questions get the old version.
    expect((await search("installer disk space"))[0]?.snippet).toContain("two gigabytes");
    await operator.promote("hand", "1.1.0", { force: false });
    expect((await search("how to install"))[0]?.snippet).toContain("package manager");
    await engine.close();
  });

  test("what cannot be read or parsed is reported, and the rest goes in: FAIL-F5", async () => {
    const { add, operator, engine } = openKnowledge({ docs: { ...HANDBOOK, "bad.md": "?", "gone.md": "!" } });
    await operator.create("hand", "");
    const report = await add("hand");
    expect(report).toMatchObject({ version: "1.0.0", unchanged: 0 });
    expect(report.added).toHaveLength(2);
    expect(report.failed.map(({ uri, reason }) => [uri, reason.split(":")[0]])).toEqual([
      ["docs/bad.md", "invalid_args"],
      ["docs/gone.md", "permission_denied"],
    ]);
    await operator.promote("hand", undefined, { force: false });
    expect(await engine.stats({ collection: "hand" }, ALL)).toMatchObject({
      health: "degraded",
      problems: ["hand 1.0.0: 2 documents could not be read (llmc kb sync names them)"],
    });
    await engine.close();
  });

  test("under a pin, sync reads what the new version is built on, and not the pinned version's sources: REQ-K2", async () => {
    const { add, operator, sources, search, engine } = await promoted();
    sources["api"] = { "b.md": "# Calls\nThe old call is named fetch." };
    await add("hand", "1.1.0");
    await operator.promote("hand", "1.1.0", { force: false });
    await operator.pin("hand", "1.0.0");
    sources["api"] = { "b.md": "# Calls\nThe new call is named read." };
    const report = await operator.sync("hand", { dryRun: false }, {});
    expect(report).toMatchObject({ version: "1.2.0", changed: ["api/b.md"], unchanged: 2 });
    const pack = await operator.exportPack("hand", undefined);
    expect(readPack(pack).manifest.version).toBe("1.0.0");
    await operator.promote("hand", "1.2.0", { force: false });
    expect(await search("which call")).toEqual(await search("which call", { filters: { version: "1.0.0" } }));
    const [hit] = await search("which call", { filters: { version: "1.2.0" } });
    expect(hit?.snippet).toContain("named read");
    await engine.close();
  });

  test("a source that fails stops no other, and what it gave before stays until it is forgotten: FAIL-F5", async () => {
    const sources: TestSources = { docs: HANDBOOK, more: { "m.md": "# More\nMore of it." } };
    const { add, operator, engine } = openKnowledge(sources);
    await operator.create("hand", "");
    await expect(add("hand", undefined, ["nowhere"])).rejects.toThrow("There is no source nowhere.");
    expect((await operator.list())[0]?.generations).toEqual([]);
    const first = await add("hand", undefined, ["nowhere", "docs", "more"]);
    expect(first.added).toHaveLength(3);
    expect(first.unread).toMatchObject([{ source: "nowhere", code: "file_not_found" }]);
    await operator.promote("hand", undefined, { force: false });
    delete sources["more"];
    const second = await operator.sync("hand", { dryRun: false }, {});
    expect(second).toMatchObject({
      version: "1.1.0",
      unchanged: 2,
      removed: [],
      unread: [{ source: "more" }],
    });
    await expect(operator.forget("hand", ["nowhere"], {})).rejects.toMatchObject({
      hint: "It has docs, more.",
    });
    expect(await operator.forget("hand", ["more"], {})).toMatchObject({
      version: "1.1.0",
      removed: ["more/m.md"],
    });
    expect((await operator.list())[0]?.generations[0]).toMatchObject({
      state: "complete",
      documents: 2,
      sources: ["docs"],
    });
    sources["docs"] = { ...HANDBOOK, "broken.md": "?" };
    await operator.sync("hand", { dryRun: false }, {});
    expect((await operator.list())[0]?.generations[0]).toMatchObject({ documents: 2, failures: 1 });
    expect(await operator.forget("hand", ["docs"], {})).toMatchObject({ version: "1.1.0", left: 0 });
    expect((await operator.list())[0]?.generations[0]).toMatchObject({ documents: 0, failures: 0 });
    await expect(operator.promote("hand", "9.9.9", { force: false })).rejects.toMatchObject({
      message: "hand has no version 9.9.9.",
      hint: "It has 1.1.0, 1.0.0.",
    });
    await engine.close();
  });

  test("no chunk begins in one section and ends in another, and each has its lines", async () => {
    const { engine, search } = await promoted();
    const hits = await search("backup restore install uninstall", { top_k: 10 });
    expect(hits).toHaveLength(4);
    for (const { citation, meta, snippet } of hits) {
      expect(meta.headings).toHaveLength(1);
      expect(snippet.startsWith(`# ${meta.headings[0]}`)).toBe(true);
      expect(citation.anchor).toMatch(/#L\d+-L\d+$/);
    }
    await engine.close();
  });
});

describe("questions: REQ-K3 REQ-K4 REQ-K5", () => {
  test("hits, documents and citations have the published shapes, in old versions too", async () => {
    const { engine, search, add, operator, sources } = await promoted();
    const [hit] = await search("how long are backups kept");
    expect(hit).toEqual({
      chunk_id: expect.stringMatching(/^hand@1\.0\.0\/[0-9a-f]{20}#0$/),
      score: 1,
      snippet: expect.stringContaining("thirty days"),
      citation: { title: "Backups", anchor: "docs/backup.md#L1-L2", license: "CC-BY-4.0", version: "1.0.0" },
      meta: {
        doc_id: expect.stringMatching(/^hand@1\.0\.0\/[0-9a-f]{20}$/),
        headings: ["Backups"],
        kind: "prose",
      },
    });
    sources["docs"] = {};
    await add("hand", "2.0.0");
    await operator.promote("hand", "2.0.0", { force: false });
    expect(await engine.resolveCitations([hit?.chunk_id ?? ""], ALL)).toEqual([hit?.citation]);
    const document = await engine.getDocument({ doc_id: hit?.meta.doc_id ?? "", range: "4-6" }, ALL);
    expect(document).toMatchObject({
      metadata: { title: "Backups", uri: "docs/backup.md", version: "1.0.0", chunks: 2 },
      license: "CC-BY-4.0",
    });
    expect(document.chunks.map(({ headings }) => headings)).toEqual([["Restore"]]);
    await engine.close();
  });

  test("version and range decide before anything is searched, and nothing is mixed: REQ-K2", async () => {
    const { engine, search, add, operator, sources } = await promoted();
    sources["docs"] = { "backup.md": "# Backups\nBackups are kept for ninety days." };
    await add("hand", "1.4.0");
    await operator.promote("hand", "1.4.0", { force: false });
    sources["docs"] = { "backup.md": "# Backups\nBackups are kept for one year." };
    await add("hand", "2.0.0");
    await operator.promote("hand", "2.0.0", { force: false });
    const kept = async (filters: object) =>
      (await search("how long are backups kept", { filters }))[0]?.snippet;
    expect(await kept({})).toContain("one year");
    expect(await kept({ version: "1.0.0" })).toContain("thirty days");
    expect(await kept({ semverRange: "^1.0.0" })).toContain("ninety days");
    expect(await kept({ semverRange: "~1.0" })).toContain("thirty days");
    expect(await search("backups", { filters: { product: "Other" } })).toEqual([]);
    expect(await search("backups", { filters: { product: "widget" } })).not.toEqual([]);
    await expect(kept({ version: "9.9.9" })).rejects.toMatchObject({ code: "resource_not_found" });
    await expect(kept({ semverRange: "banana" })).rejects.toMatchObject({ code: "invalid_args" });
    // "Not in this knowledge base" would claim that something was searched.
    for (const filters of [{ version: "9.9.9" }, { semverRange: "^7" }, { product: "Other" }])
      for (const collection of [{}, { collection: "hand" }])
        await expect(
          engine.answer({ query: "how long are backups kept", filters: { ...filters, ...collection } }, CALL),
        ).rejects.toMatchObject({ code: "resource_not_found" });
    await operator.pin("hand", "1.4.0");
    expect(await kept({})).toContain("ninety days");
    await operator.pin("hand", undefined);
    expect(await operator.rollback("hand")).toBe("1.4.0");
    expect(await kept({})).toContain("ninety days");
    await engine.close();
  });

  test("an answer is made of cited sentences, and what is not there is said not to be", async () => {
    const { engine } = await promoted();
    const answer = await engine.answer({ query: "How long is each backup kept?" }, CALL);
    expect(answer.text).toContain("1> Each backup is kept for thirty days.");
    expect(answer.citations[0]).toMatchObject({ anchor: "docs/backup.md#L1-L2" });
    expect(answer.confidence).toBeGreaterThan(0.5);
    const other = await engine.answer({ query: "Who painted the ceiling of the Sistine Chapel?" }, CALL);
    expect(other).toMatchObject({ text: "Not in this knowledge base.", citations: [] });
    expect(other.confidence).toBeLessThan(0.5);
    await engine.close();
  });

  test("REQ-K3 an id that is none says so by itself, and the others are resolved", async () => {
    const { engine, search } = await promoted();
    const [hit] = await search("how long are backups kept");
    const resolved = await engine.resolveCitations(["nonsense", hit?.chunk_id ?? ""], ALL);
    expect(resolved).toEqual([
      { title: "nonsense", error: '"nonsense" is not the id of a passage.' },
      hit?.citation,
    ]);
    await expect(engine.resolveCitations(["nonsense"], ALL)).rejects.toMatchObject({
      code: "invalid_args",
      message: '"nonsense" is not the id of a passage.',
    });
    await engine.close();
  });

  test("REQ-K3 a range in a unit that the document does not have says which it has", async () => {
    const { engine, search } = await promoted();
    const [hit] = await search("how long are backups kept");
    const read = async (range: string) => {
      const { chunks, metadata } = await engine.getDocument({ doc_id: hit?.meta.doc_id ?? "", range }, ALL);
      return { chunks: chunks.length, warnings: metadata.warnings };
    };
    const warnings = [
      expect.stringMatching(/^nothing in that range: the document has lines 1-\d and passages #0-1$/),
    ];
    expect(await read("p3")).toEqual({ chunks: 0, warnings });
    expect(await read("900-1000")).toEqual({ chunks: 0, warnings });
    expect(await read("#0")).toEqual({ chunks: 1, warnings: [] });
    await engine.close();
  });

  test("an id that has gone says so by itself, and the others are resolved", async () => {
    const { engine, search } = await promoted();
    const [hit] = await search("how long are backups kept");
    const id = hit?.chunk_id ?? "";
    const missing = [
      id.replace(/#\d+$/, "#999"),
      id.replace("@1.0.0", "@9.0.0"),
      id.replace("hand", "other"),
    ];
    const resolved = await engine.resolveCitations([missing[0] ?? "", id, ...missing.slice(1)], ALL);
    expect(resolved[1]).toEqual(hit?.citation);
    expect(resolved.map(({ title, error }) => [title, error !== undefined])).toEqual([
      [missing[0], true],
      ["Backups", false],
      [missing[1], true],
      [missing[2], true],
    ]);
    const refusing = {
      permitCollection: (name: string) => {
        if (name === "other") throw new LlmcError("forbidden", "not this one");
      },
    };
    await expect(engine.resolveCitations([id, missing[2] ?? ""], refusing)).rejects.toMatchObject({
      code: "forbidden",
    });
    await engine.close();
  });

  test("cache_ttl is the age that this call accepts, whatever another one kept it for: REQ-I8", async () => {
    const { engine, search } = await promoted();
    const query = "how long are backups kept";
    const first = await search(query, { cache_ttl: 3600 });
    expect(await search(query, { cache_ttl: 10 })).toBe(first);
    clock.now += 20_000;
    expect(await search(query, { cache_ttl: 60 })).toBe(first);
    const fresh = await search(query, { cache_ttl: 10 });
    expect(fresh).toEqual(first);
    expect(fresh).not.toBe(first);
    await engine.close();
  });

  test("a collection that another process made anew under its name answers with its own documents: REQ-I8", async () => {
    const { engine, search, root } = await promoted();
    expect((await search("how long are backups kept"))[0]?.snippet).toContain("thirty days");
    const other = openKnowledge({ docs: { "backup.md": "# Backups\nBackups are kept for one year." } }, root);
    await other.operator.remove("hand");
    await other.operator.create("hand", "Widget");
    await other.add("hand", "1.0.0");
    await other.operator.promote("hand", undefined, { force: false });
    await other.engine.close();
    expect((await search("how long are backups kept"))[0]?.snippet).toContain("one year");
    expect((await search("how long is a backup kept"))[0]?.snippet).toContain("one year");
    await engine.close();
  });

  test("collections without the requested version take no place of those that have it", async () => {
    const { engine, operator, add } = await promoted();
    for (let at = 0; at < 32; at++) {
      await operator.create(`a${at}`, "");
      await add(`a${at}`, "2.0.0");
      await operator.promote(`a${at}`, undefined, { force: false });
    }
    const filters = { version: "1.0.0" };
    const answer = await engine.answer({ query: "How long is each backup kept?", filters }, CALL);
    expect(answer.text).toContain("thirty days");
    expect(answer).not.toHaveProperty("meta");
    await engine.close();
  });

  test("all collections are asked, however many; where the time ends before, the answer says so", async () => {
    const { engine, operator, add, sources } = await promoted();
    sources["other"] = { "pets.md": "# Pets\nThe dog sleeps in the kitchen." };
    for (let at = 0; at < 33; at++) {
      await operator.create(`a${at}`, "");
      await add(`a${at}`, "1.0.0", ["other"]);
      await operator.promote(`a${at}`, undefined, { force: false });
    }
    const query = "How long is each backup kept?";
    // It stands in the last one alone.
    const answer = await engine.answer({ query }, CALL);
    expect(answer.text).toContain("thirty days");
    expect(answer).not.toHaveProperty("meta");
    asking.maxMs = 0;
    try {
      expect(await engine.answer({ query }, CALL)).toMatchObject({
        meta: { collections_asked: 8, collections_left_out: 26 },
      });
      const filters = { collection: "hand" };
      expect(await engine.answer({ query, filters }, CALL)).not.toHaveProperty("meta");
    } finally {
      asking.maxMs = 60_000;
    }
    await engine.close();
  });

  test.each(["foo.bar", "C++", "how to?", '"', "NEAR(", "*", "-x", "😀", "x ".repeat(5000)])(
    "hostile query %#: FAIL-F3",
    async (query) => {
      const { engine, search } = await promoted();
      expect(Array.isArray(await search(query))).toBe(true);
      await engine.close();
    },
  );

  test("what a caller may not read is refused before it is looked up, and not listed: REQ-I4", async () => {
    const { engine } = await promoted();
    const refusing = {
      permitCollection: (name: string) => {
        throw new LlmcError("forbidden", `not ${name}`);
      },
    };
    const request = { collection: "no-such", query: "x", top_k: 1 };
    await expect(engine.hybridSearch(request, refusing)).rejects.toMatchObject({ code: "forbidden" });
    await expect(engine.hybridSearch(request, ALL)).rejects.toMatchObject({ code: "resource_not_found" });
    await expect(engine.hybridSearch(request, {})).rejects.toMatchObject({ code: "forbidden" });
    expect(await engine.listCollections(undefined, refusing)).toEqual([]);
    await expect(
      engine.answer({ query: "how long are backups kept" }, { ...CALL, caller: refusing }),
    ).rejects.toThrow("There is no knowledge base");
    await engine.close();
  });
});

describe("evaluation: REQ-K7", () => {
  test("a question set is asked before promotion, and a worse version is not promoted", async () => {
    const { engine, operator, add, sources } = await promoted();
    const questions = [
      { query: "how long are backups kept", gold: ["backup.md"] },
      { query: "which rights does the installer need", gold: ["install.md"] },
    ];
    const { scores } = await operator.evaluate("hand", undefined, questions);
    expect(scores).toMatchObject({ questions: 2, recall: 1, mrr: 1, ndcg: 1, refusals: null });
    expect(scores.faithfulness).toBeGreaterThan(0.5);
    expect((await engine.stats({ collection: "hand" }, ALL)).eval_scores).toMatchObject({
      recall: 1,
      ndcg: 1,
    });
    sources["docs"] = { "other.md": "# Other\nNothing of interest is written here." };
    await add("hand", "1.1.0");
    await expect(operator.promote("hand", undefined, { force: false })).rejects.toThrow(/recall@10 is 0/);
    expect((await operator.list())[0]?.active).toBe("1.0.0");
    expect(await operator.promote("hand", undefined, { force: true })).toMatchObject({ version: "1.1.0" });
    await engine.close();
  });

  test("a gold that fits several documents counts once, so that no score exceeds 1", async () => {
    const text = "# Backups\nBackups are kept for thirty days.";
    const { engine, operator } = await promoted({ "a/README.md": text, "b/README.md": `${text} Always.` });
    const query = "how long are backups kept";
    const ask = async (gold: readonly string[]) =>
      (await operator.evaluate("hand", undefined, [{ query, gold }])).scores;
    expect(await ask(["README.md"])).toMatchObject({ recall: 1, ndcg: 1 });
    expect(await ask(["README.md", "README.md"])).toMatchObject({ recall: 1, ndcg: 1 });
    expect(await ask(["README.md", "a/README.md"])).toMatchObject({ recall: 1, ndcg: 1 });
    await engine.close();
  });
});

describe("drift and spans: REQ-K7", () => {
  test("a version is compared with the active one on the same questions, whatever scores that one has stored", async () => {
    const { engine, operator, add, sources } = await promoted();
    // The active version is measured with questions that it cannot answer, so that its stored scores are low.
    await operator.evaluate("hand", undefined, [{ query: "opening hours of the zoo", gold: ["none.md"] }]);
    expect((await operator.list())[0]?.generations[0]?.scores?.ndcg).toBe(0);
    const questions = [
      { query: "how long are backups kept", gold: ["backup.md"] },
      { query: "which rights does the installer need", gold: ["install.md"] },
    ];
    await engine.store.saveQuestions("hand", questions);
    sources["docs"] = { "backup.md": HANDBOOK["backup.md"], "other.md": "# Other\nNothing of interest." };
    await add("hand", "1.1.0");
    await expect(operator.promote("hand", undefined, { force: false })).rejects.toThrow(
      /nDCG@10 is 0\.5, against 1 of the active version with the same questions/,
    );
    const drift = await operator.evaluate("hand", "1.1.0", undefined);
    expect(drift).toMatchObject({ scores: { ndcg: 0.5 }, active: { version: "1.0.0", scores: { ndcg: 1 } } });
    const page = renderEvaluation("hand", drift);
    expect(page).toContain("Drift against 1.0.0");
    expect(page).toContain("<td>ndcg</td><td>1</td><td>0.5</td><td>-0.5</td>");
    await engine.close();
  });

  test("an answer is faithful if it contains the span that its question names", async () => {
    const { engine, operator } = await promoted();
    const ask = async (answer: string | undefined) =>
      (
        await operator.evaluate("hand", undefined, [
          {
            query: "how long is each backup kept",
            gold: ["backup.md"],
            ...(answer === undefined ? {} : { answer }),
          },
        ])
      ).scores.faithfulness;
    expect(await ask("kept for  Thirty days")).toBe(1);
    expect(await ask("kept for ninety days")).toBe(0);
    expect(await ask(undefined)).toBeGreaterThan(0.5);
    await engine.close();
  });
});

describe("packs: REQ-K8", () => {
  test("an import that was killed can be repeated; what somebody else began is left alone", async () => {
    const { operator, engine } = await promoted();
    await engine.store.saveQuestions("hand", [{ query: "q", gold: [] }]);
    const pack = await operator.exportPack("hand", undefined);
    await engine.close();
    const other = openKnowledge({ docs: HANDBOOK });
    const { store } = other.engine;
    // What a killed import leaves: an open version with some of its documents.
    await other.operator.importPack(pack, undefined);
    const [whole] = (await other.operator.list())[0]?.generations ?? [];
    const [source = ""] = whole?.sources ?? [];
    const questions = await store.questions("hand", whole?.id);
    await store.removeCollection("hand");
    await other.operator.create("hand", "");
    const pack1 = { embedder: embedder.id, base: undefined, pack: { source, questions } };
    await store.openGeneration("hand", parseVersion("1.0.0"), pack1);
    await expect(other.operator.exportPack("hand", undefined)).rejects.toThrow(
      "Not all documents of version 1.0.0 are in yet.",
    );
    expect(await other.operator.importPack(pack, undefined)).toMatchObject({ documents: 2 });
    expect((await other.operator.list())[0]?.generations).toMatchObject([
      { state: "complete", documents: 2 },
    ]);
    expect(await store.questions("hand")).toEqual([]);
    await other.operator.promote("hand", undefined, { force: true });
    expect(await store.questions("hand")).toEqual([{ query: "q", gold: [] }]);
    // The same version just begun from a folder, before its first document is in.
    await other.operator.create("begun", "");
    const begun = await store.openGeneration("begun", parseVersion("1.0.0"), {
      embedder: embedder.id,
      base: undefined,
    });
    await expect(other.operator.importPack(pack, "begun")).rejects.toMatchObject({ code: "already_exists" });
    expect((await other.operator.list()).find(({ name }) => name === "begun")?.generations).toMatchObject([
      { id: begun.id, state: "open", sources: [] },
    ]);
    // The same version begun from a folder.
    await other.operator.create("mine", "");
    await other.add("mine", "1.0.0");
    await store.openGeneration("mine", parseVersion("1.0.0"), { embedder: embedder.id, base: undefined });
    await expect(other.operator.importPack(pack, "mine")).rejects.toMatchObject({ code: "already_exists" });
    expect((await other.operator.list()).find(({ name }) => name === "mine")?.generations[0]?.documents).toBe(
      2,
    );
    await other.engine.close();
  });

  const MANIFEST = {
    format: 1 as const,
    collection: "hand",
    product: "",
    version: parseVersion("1.0.0"),
    embedder: embedder.id,
    documents: 0,
    chunks: 0,
    licences: {},
    questions: [],
    parts: [],
  };

  test("the version of a pack is kept in its usual spelling, so that it can be found", () => {
    const written = { ...MANIFEST, version: "v1.0.0" as typeof MANIFEST.version };
    expect(readPack(writePack(written, [])).manifest.version).toBe("1.0.0");
  });

  test.each([
    ["no object", ["x"]],
    ["no query", [{ gold: [] }]],
    ["gold of another type", [{ query: "q", gold: "a.md" }]],
    ["an answer of another type", [{ query: "q", gold: [], answer: 7 }]],
    ["no list", {}],
  ])("a question set with %s is refused with its pack: FAIL-F5", (_, questions) => {
    const manifest = { ...MANIFEST, questions: questions as never };
    expect(() => readPack(writePack(manifest, []))).toThrow("its manifest is not complete");
    expect(readPack(writePack({ ...manifest, questions: [{ query: "q", gold: [] }] }, [])).parts).toEqual([]);
  });

  test("what is made here goes on beside an imported version, and is promoted before it: REQ-K2", async () => {
    const { operator, engine, sources, add } = await promoted();
    const own = await operator.exportPack("hand", undefined);
    const { manifest, parts } = readPack(own);
    const version = parseVersion("9.0.0");
    const questions = Array.from({ length: 40 }, (_, at) => ({
      query: `Who painted number ${at}?`,
      gold: ["x.md"],
    }));
    await operator.importPack(writePack({ ...manifest, version, questions }, parts), "hand");
    sources["more"] = { "m.md": "# More\nMore of it." };
    const added = await add("hand", undefined, ["more"]);
    expect(added).toMatchObject({ version: "1.1.0", added: ["more/m.md"] });
    // Nothing of the pack is asked of it.
    const first = await operator.promote("hand", undefined, { force: false });
    expect(first).toMatchObject({ version: "1.1.0", evaluation: undefined });
    await expect(operator.promote("hand", undefined, { force: true })).rejects.toMatchObject({
      code: "resource_not_found",
    });
    await expect(operator.promote("hand", "9.0.0", { force: false })).rejects.toThrow(
      /Version 9.0.0 was not promoted/,
    );
    await expect(add("hand", "9.0.0", ["more"])).rejects.toThrow(/imported/);
    expect((await operator.list())[0]).toMatchObject({ active: "1.1.0" });
    await engine.close();
  });

  test("a pack brings a version to another machine, all of it or nothing", async () => {
    const { operator, search, engine } = await promoted();
    const before = await search("how long are backups kept");
    const pack = await operator.exportPack("hand", undefined);
    await engine.close();
    const other = openKnowledge({});
    expect(await other.operator.importPack(pack, undefined)).toMatchObject({
      collection: "hand",
      version: "1.0.0",
      documents: 2,
    });
    await other.operator.promote("hand", undefined, { force: false });
    const after = await other.search("how long are backups kept");
    expect(after.map(({ snippet, score, citation }) => ({ snippet, score, citation }))).toEqual(
      before.map(({ snippet, score, citation }) => ({ snippet, score, citation })),
    );
    await expect(other.operator.importPack(pack, undefined)).rejects.toMatchObject({
      code: "already_exists",
    });
    await other.engine.close();
    const third = openKnowledge({});
    // Every part of it, the licences in its manifest included, where the change is valid JSON.
    const licences = Buffer.from(pack).indexOf('"licences"');
    for (const at of [3, 20, licences + 1, pack.length - 40, pack.length - 5]) {
      const damaged = Uint8Array.from(pack);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      await expect(third.operator.importPack(damaged, undefined)).rejects.toMatchObject({
        code: "invalid_args",
      });
    }
    for (const end of [0, 10, pack.length - 1])
      await expect(third.operator.importPack(pack.subarray(0, end), undefined)).rejects.toThrow(
        /cannot be imported/,
      );
    const { manifest, parts } = readPack(pack);
    const foreign = writePack({ ...manifest, embedder: "other-256" }, parts);
    await expect(third.operator.importPack(foreign, undefined)).rejects.toThrow(/another embedder/);
    expect(await third.operator.list()).toEqual([]);
    await third.engine.close();
  });
});

describe("through the pipe", () => {
  const app = shareTestApp({ config: '[mcp]\nmode = "classic"\n' });

  test("tools answer over real files, and refuse by policy before they look: REQ-T7 REQ-I4", async () => {
    const engines = await app().engines();
    const engine = await engines.knowledgeEngine();
    writeFileSync(join(app().root, "note.md"), "x");
    expect(await app().text("kb_list_collections")).toBe("no knowledge bases");
    expect(await app().ask("kb_answer", { query: "anything" })).toMatchObject({
      error: { code: "resource_not_found", hint: expect.stringContaining("llmc kb create NAME") },
    });
    await engine.store.createCollection("hand", "");
    expect(await app().text("kb_list_collections")).toBe("hand (not promoted)");
    expect(await app().errorCode("kb_hybrid_search", { collection: "hand", query: "x" })).toBe(
      "SERVICE_UNAVAILABLE",
    );
    expect(await app().errorCode("kb_hybrid_search", { collection: "none", query: "x" })).toBe(
      "RESOURCE_NOT_FOUND",
    );
    expect(await app().errorCode("kb_hybrid_search", { collection: "../x", query: "x" })).toBe(
      "VALIDATION_ERROR",
    );
    expect(await app().errorCode("kb_hybrid_search", { collection: "hand", query: "x", top_k: 51 })).toBe(
      "VALIDATION_ERROR",
    );
    expect(await app().errorCode("kb_resolve_citations", { chunk_ids: ["nonsense"] })).toBe(
      "VALIDATION_ERROR",
    );
    expect(await app().ask("kb_answer", { query: "anything" })).toMatchObject({
      error: { code: "unavailable", hint: expect.stringContaining("llmc kb promote hand") },
    });
    const noScope = await app().ask(
      "kb_hybrid_search",
      { collection: "none", query: "x" },
      { caller: { ...TEST_CALLER, may: new Set(["write"]) } },
    );
    expect(noScope).toMatchObject({ kind: "error", error: { code: "forbidden" } });
    const overModel = await app().ask("kb_answer", { query: "x", model: "openai/gpt-x" });
    expect(overModel).toMatchObject({ kind: "error", error: { code: "egress_denied" } });
  });
});
