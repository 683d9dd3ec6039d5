import { describe, expect, test } from "vitest";
import type { DocumentFacts, NewChunk, Store } from "../../src/knowledge/store/contract.ts";
import { parseVersion } from "../../src/knowledge/versions/semver.ts";

const chunk = (ordinal: number, text: string): NewChunk => ({
  ordinal,
  kind: "prose",
  headings: ["Top", `Part ${ordinal}`],
  anchor: undefined,
  page: ordinal + 1,
  startLine: 1,
  endLine: 2,
  text,
  terms: new Uint8Array([ordinal, 2, 3, 4, 1]),
  vector: new Int8Array([ordinal, -1, 127, -127]),
});

const facts = (key: string, uri: string, more: Partial<DocumentFacts> = {}): DocumentFacts => ({
  key,
  uri,
  source: "/docs",
  title: `Title of ${uri}`,
  format: "markdown",
  licence: "MIT",
  version: undefined,
  hash: `hash-${key}`,
  bytes: 10,
  warnings: ["odd"],
  ...more,
});

const MADE = { embedder: "e1", base: undefined };

/** What every store of knowledge bases does alike. `open` gives a new, empty one each time. */
export const describeStore = (
  name: string,
  open: (workspace?: string) => Promise<Store>,
  reopen: (store: Store, workspace?: string) => Promise<Store>,
): void => {
  describe(`a store of knowledge bases in ${name}`, () => {
    const filled = async () => {
      const store = await open();
      await store.createCollection("hand", "Product");
      const first = await store.openGeneration("hand", parseVersion("1.0.0"), MADE);
      await store.addDocument(first.id, facts("a1", "a.md"), [chunk(0, "alpha"), chunk(1, "beta")]);
      await store.addDocument(first.id, facts("b1", "b.md"), [chunk(0, "gamma")]);
      await store.completeGeneration(first.id, ["/docs"]);
      return { store, first };
    };
    const texts = async (store: Store, generation: number): Promise<readonly string[]> => {
      const ids: number[] = [];
      for await (const batch of store.passages(generation)) ids.push(...batch.map(({ id }) => id));
      return (await store.readPassages(generation, ids)).map(({ text }) => text).toSorted();
    };
    const current = async (store: Store) => (await store.collections()).find((one) => one.name === "hand");

    test("the number of a generation that was removed is never given to another, whoever makes it: REQ-K2 REQ-I8", async () => {
      const { store, first } = await filled();
      const other = await reopen(store);
      await other.removeCollection("hand");
      await other.createCollection("hand", "");
      const second = await other.openGeneration("hand", parseVersion("1.0.0"), MADE);
      await other.discardGeneration(second.id);
      const third = await store.openGeneration("hand", parseVersion("1.0.0"), MADE);
      expect(new Set([first.id, second.id, third.id]).size).toBe(3);
      await other.close();
      await store.close();
    });

    test("a generation that has to be new is marked from its beginning, and never one that is there: REQ-K8", async () => {
      const { store } = await filled();
      const marked = { ...MADE, pack: { source: "pack:1", questions: [{ query: "q", gold: [] }] } };
      await expect(store.openGeneration("hand", parseVersion("1.0.0"), marked)).rejects.toMatchObject({
        code: "already_exists",
      });
      expect((await current(store))?.generations[0]?.state).toBe("complete");
      expect(await store.openGeneration("hand", parseVersion("1.1.0"), marked)).toMatchObject({
        sources: ["pack:1"],
        isImported: true,
      });
      await store.close();
    });

    test("what was imported is complete for good, and its questions are the collection's once it is promoted: REQ-K2 REQ-K8", async () => {
      const { store } = await filled();
      const pack = { source: "pack:1", questions: [{ query: "packed", gold: [] }] };
      const version = parseVersion("9.0.0");
      const made = await store.openGeneration("hand", version, { ...MADE, pack });
      await store.addDocument(made.id, facts("p1", "p.md"), [chunk(0, "packed")]);
      await store.completeGeneration(made.id, [pack.source]);
      await expect(store.openGeneration("hand", version, MADE)).rejects.toThrow(
        /imported and does not change/,
      );
      const changes = [
        store.addDocument(made.id, facts("p2", "q.md"), [chunk(0, "more")]),
        store.linkDocument(made.id, "a1"),
        store.removeDocuments(made.id, ["p1"]),
      ];
      for (const change of await Promise.allSettled(changes))
        expect(change).toMatchObject({ status: "rejected", reason: { code: "already_exists" } });
      expect(await store.questions("hand")).toEqual([]);
      expect(await store.questions("hand", made.id)).toEqual(pack.questions);
      await store.promote(made.id);
      expect(await store.questions("hand")).toEqual(pack.questions);
      const other = await store.openGeneration("hand", parseVersion("10.0.0"), {
        ...MADE,
        pack: { source: "pack:2", questions: [{ query: "other", gold: [] }] },
      });
      await store.completeGeneration(other.id, ["pack:2"]);
      await store.promote(other.id);
      expect(await store.questions("hand")).toEqual(pack.questions);
      await store.close();
    });

    test("what goes in comes out, byte for byte: REQ-K1", async () => {
      const { store, first } = await filled();
      const batches = [];
      for await (const batch of store.passages(first.id)) batches.push(...batch);
      expect(batches.map(({ terms, vector }) => [[...terms], [...vector]])).toEqual([
        [
          [0, 2, 3, 4, 1],
          [0, -1, 127, -127],
        ],
        [
          [1, 2, 3, 4, 1],
          [1, -1, 127, -127],
        ],
        [
          [0, 2, 3, 4, 1],
          [0, -1, 127, -127],
        ],
      ]);
      const [, beta] = (await store.readDocument(first.id, "a1")) ?? [];
      expect(beta).toMatchObject({
        ordinal: 1,
        headings: ["Top", "Part 1"],
        page: 2,
        startLine: 1,
        text: "beta",
        document: facts("a1", "a.md"),
      });
      expect(await current(store)).toMatchObject({
        product: "Product",
        active: undefined,
        generations: [
          { version: "1.0.0", state: "complete", documents: 2, chunks: 3, bytes: 20, sources: ["/docs"] },
        ],
      });
      await expect(store.createCollection("hand", "")).rejects.toMatchObject({ code: "already_exists" });
      await expect(store.openGeneration("none", parseVersion("1.0.0"), MADE)).rejects.toMatchObject({
        code: "resource_not_found",
      });
      await store.close();
    });

    test("passages are named by document and position, and come without their texts: REQ-K3", async () => {
      const { store, first } = await filled();
      await store.promote(first.id);
      const second = await store.openGeneration("hand", parseVersion("1.1.0"), {
        embedder: "e1",
        base: first.id,
      });
      await store.addDocument(second.id, facts("b2", "b.md"), [chunk(0, "delta")]);
      const asked = [
        { key: "b1", ordinal: 0 },
        { key: "a1", ordinal: 1 },
        { key: "a1", ordinal: 7 },
        { key: "zz", ordinal: 0 },
        { key: "b2", ordinal: 0 },
        { key: "a1' OR 1=1 --", ordinal: 0 },
      ];
      const positions = async (generation: number) =>
        (await store.readPositions(generation, asked))
          .map(({ document, ordinal }) => `${document.key}#${ordinal}`)
          .toSorted();
      expect(await positions(first.id)).toEqual(["a1#1", "b1#0"]);
      expect(await positions(second.id)).toEqual(["a1#1", "b2#0"]);
      expect(await store.readPositions(first.id, [])).toEqual([]);
      const [one] = await store.readPositions(first.id, [{ key: "a1", ordinal: 1 }]);
      const { text: _, terms: __, vector: ___, ...position } = chunk(1, "beta");
      expect(one).toEqual({ ...position, document: facts("a1", "a.md") });
      await store.close();
    });

    test("a part of a document is what a range has of it, up to a size, and says how much there is: REQ-K3", async () => {
      const { store, first } = await filled();
      const long = Array.from({ length: 120 }, (_, at) => ({
        ...chunk(at, `passage ${at}`),
        page: at < 60 ? 1 : 2,
        startLine: at * 10 + 1,
        endLine: at === 119 ? undefined : at * 10 + 10,
      }));
      await store.addDocument(first.id, facts("l1", "long.md"), long);
      const part = async (
        unit: "line" | "page" | "ordinal" | undefined,
        from: number,
        to: number,
        maxChars: number,
      ) => {
        const range = unit === undefined ? undefined : { unit, first: from, last: to };
        const found = await store.readPart(first.id, "l1", range, maxChars);
        return [found?.chunks, found?.wanted, found?.passages.map(({ ordinal }) => ordinal)];
      };
      const numbers = (from: number, to: number) =>
        Array.from({ length: to - from + 1 }, (_, at) => from + at);
      expect(await part(undefined, 0, 0, 1e6)).toEqual([120, 120, numbers(0, 119)]);
      expect(await part(undefined, 0, 0, 18)).toEqual([120, 120, [0, 1]]);
      expect(await part(undefined, 0, 0, 0)).toEqual([120, 120, [0]]);
      expect(await part("ordinal", 3, 5, 1e6)).toEqual([120, 3, [3, 4, 5]]);
      expect(await part("ordinal", 3, 118, 1e6)).toEqual([120, 116, numbers(3, 118)]);
      expect(await part("line", 10, 11, 1e6)).toEqual([120, 2, [0, 1]]);
      expect(await part("line", 1191, 1191, 1e6)).toEqual([120, 1, [119]]);
      expect(await part("page", 2, 9, 1e6)).toEqual([120, 60, numbers(60, 119)]);
      expect(await part("page", 3, 9, 1e6)).toEqual([120, 0, []]);
      expect(await store.readPart(first.id, "zz", undefined, 10)).toBeUndefined();
      const [one] = (await store.readPart(first.id, "l1", undefined, 0))?.passages ?? [];
      expect(one).toMatchObject({ text: "passage 0", document: facts("l1", "long.md") });
      await store.close();
    });

    test("a promoted generation never changes; the next one shares what has not changed: REQ-K2", async () => {
      const { store, first } = await filled();
      await store.promote(first.id);
      await expect(store.addDocument(first.id, facts("c1", "c.md"), [])).rejects.toThrow(/promoted/);
      await expect(store.openGeneration("hand", parseVersion("1.0.0"), MADE)).rejects.toThrow(/promoted/);
      const second = await store.openGeneration("hand", parseVersion("1.1.0"), {
        embedder: "e1",
        base: first.id,
      });
      await expect(store.promote(second.id)).rejects.toMatchObject({ code: "unavailable" });
      await store.addDocument(second.id, facts("b2", "b.md"), [chunk(0, "delta")]);
      await store.completeGeneration(second.id, ["/docs"]);
      expect(await texts(store, second.id)).toEqual(["alpha", "beta", "delta"]);
      expect(await texts(store, first.id)).toEqual(["alpha", "beta", "gamma"]);
      expect(await store.readDocument(second.id, "b1")).toBeUndefined();
      await store.promote(second.id);
      expect(await current(store)).toMatchObject({ active: "1.1.0" });
      expect(await store.rollback("hand")).toBe("1.0.0");
      expect(await current(store)).toMatchObject({ active: "1.0.0" });
      expect(await store.rollback("hand")).toBeUndefined();
      await store.close();
    });

    test("adding is repeatable, and a document of the same place takes the place of the old one: FAIL-F6", async () => {
      const { store, first } = await filled();
      await store.addDocument(first.id, facts("a1", "a.md"), [chunk(0, "other")]);
      expect(await texts(store, first.id)).toEqual(["alpha", "beta", "gamma"]);
      await store.addDocument(first.id, facts("a2", "a.md"), [chunk(0, "new")]);
      await store.addDocument(first.id, facts("a3", "a.md", { source: "/more" }), [chunk(0, "else")]);
      expect(await texts(store, first.id)).toEqual(["else", "gamma", "new"]);
      await store.linkDocument(first.id, "a1");
      expect(await texts(store, first.id)).toEqual(["alpha", "beta", "else", "gamma"]);
      expect(await store.knownDocuments("hand", ["a1", "a2", "zz"])).toEqual(new Set(["a1", "a2"]));
      await store.recordFailure(first.id, { uri: "bad.md", reason: "broken" });
      await store.recordFailure(first.id, { uri: "bad.md", reason: "still broken" });
      expect(await store.failures(first.id)).toEqual([{ uri: "bad.md", reason: "still broken" }]);
      await store.addDocument(first.id, facts("bad", "bad.md"), [chunk(0, "good")]);
      expect(await store.failures(first.id)).toEqual([]);
      await store.removeDocuments(first.id, ["bad", "b1"]);
      expect((await store.documents(first.id)).map(({ key }) => key)).toEqual(["a1", "a3"]);
      await store.close();
    });

    test("garbage goes, and never what is active, pinned, held or unfinished: REQ-K2", async () => {
      const { store, first } = await filled();
      const make = async (version: string, base: number) => {
        const made = await store.openGeneration("hand", parseVersion(version), { embedder: "e1", base });
        await store.addDocument(made.id, facts(`b${version}`, "b.md"), [chunk(0, version)]);
        await store.completeGeneration(made.id, ["/docs"]);
        await store.promote(made.id);
        return made;
      };
      await store.promote(first.id);
      const second = await make("1.1.0", first.id);
      const third = await make("1.2.0", second.id);
      const fourth = await make("1.3.0", third.id);
      const draft = await store.openGeneration("hand", parseVersion("2.0.0"), {
        embedder: "e1",
        base: undefined,
      });
      await store.pin("hand", "1.1.0");
      await store.hold(third.id, "someone", 2000);
      expect(await store.collect("hand", 0, 1000)).toEqual({ generations: ["1.0.0"], documents: 1 });
      const other = await reopen(store, "/elsewhere");
      expect((await current(store))?.pinned).toBe("1.1.0");
      expect((await current(other))?.pinned).toBeUndefined();
      await other.close();
      await store.pin("hand", undefined);
      expect((await store.collect("hand", 1, 1000)).generations).toEqual(["1.1.0"]);
      await store.release(third.id, "someone");
      expect((await store.collect("hand", 1, 1000)).generations).toEqual(["1.2.0"]);
      expect((await current(store))?.generations.map(({ id }) => id)).toEqual([draft.id, fourth.id]);
      expect(await texts(store, fourth.id)).toEqual(["1.3.0", "alpha", "beta"]);
      await store.removeCollection("hand");
      expect(await store.collections()).toEqual([]);
      await store.close();
    });

    test("a rollback leads to another version, or says that there is none: REQ-K2", async () => {
      const { store, first } = await filled();
      const promote = async (version: string) => {
        const made = await store.openGeneration("hand", parseVersion(version), MADE);
        await store.completeGeneration(made.id, ["/docs"]);
        await store.promote(made.id);
      };
      await store.promote(first.id);
      expect(await store.rollback("hand")).toBeUndefined();
      await promote("2.0.0");
      await store.promote(first.id);
      await promote("3.0.0");
      expect(await store.rollback("hand")).toBe("1.0.0");
      // Both promotions of 1.0.0 are left, and nothing between them.
      await store.collect("hand", 0, 1000);
      expect(await store.rollback("hand")).toBeUndefined();
      expect((await current(store))?.active).toBe("1.0.0");
      await store.close();
    });

    test("an index belongs to the documents that it was built from: REQ-K9", async () => {
      const { store, first } = await filled();
      const bytes = new Uint8Array([1, 0, 255]);
      const write = async (builder: string): Promise<void> => {
        await store.indexes.add(first.id, builder, { section: "ids", piece: 0, bytes });
        await store.indexes.finish(first.id, builder, builder);
      };
      await store.indexes.begin(first.id, "a");
      expect(await store.indexes.header(first.id)).toBeUndefined();
      await write("a");
      expect(await store.indexes.header(first.id)).toBe("a");
      expect([...((await store.indexes.part(first.id, "ids", 0)) ?? [])]).toEqual([...bytes]);
      expect(await store.indexes.part(first.id, "ids", 1)).toBeUndefined();
      await store.indexes.begin(first.id, "b");
      await store.openGeneration("hand", parseVersion("1.0.0"), MADE);
      await write("b");
      expect(await store.indexes.header(first.id)).toBeUndefined();
      expect(await store.indexes.part(first.id, "ids", 0)).toBeUndefined();
      await store.indexes.begin(first.id, "c");
      await store.completeGeneration(first.id, ["/docs"]);
      await write("c");
      expect(await store.indexes.header(first.id)).toBeUndefined();
      await store.indexes.begin(first.id, "d");
      await write("d");
      await store.discardGeneration(first.id);
      expect(await store.indexes.header(first.id)).toBeUndefined();
      await store.close();
    });

    test("who changes a complete generation opens it again, and only who changes it: REQ-K9", async () => {
      const { store, first } = await filled();
      const state = async () => (await current(store))?.generations[0]?.state;
      await store.indexes.begin(first.id, "a");
      await store.indexes.finish(first.id, "a", "header");
      expect(await store.linkDocument(first.id, "a1")).toBe(false);
      await store.addDocument(first.id, facts("b1", "b.md"), [chunk(0, "gamma")]);
      await store.removeDocuments(first.id, ["zz"]);
      expect([await state(), await store.indexes.header(first.id)]).toEqual(["complete", "header"]);
      await store.addDocument(first.id, facts("c1", "c.md"), [chunk(0, "delta")]);
      expect([await state(), await store.indexes.header(first.id)]).toEqual(["open", undefined]);
      await store.completeGeneration(first.id, ["/more"]);
      expect((await current(store))?.generations[0]).toMatchObject({
        documents: 3,
        sources: ["/docs", "/more"],
      });
      await store.removeDocuments(first.id, ["c1"]);
      expect(await state()).toBe("open");
      expect(await store.linkDocument(first.id, "c1")).toBe(true);
      await store.completeGeneration(first.id, [], ["/docs"]);
      expect((await current(store))?.generations[0]).toMatchObject({ documents: 3, sources: ["/more"] });
      await store.close();
    });

    test("one run has a document at a time, until it is in, has failed or its run is dead: REQ-K9", async () => {
      const { store, first } = await filled();
      const { claims } = store;
      expect(await claims.take(first.id, "a1", "me")).toBe("known");
      expect(await claims.take(first.id, "c1", "me")).toBe("own");
      expect(await claims.take(first.id, "c1", "me")).toBe("own");
      expect(await claims.take(first.id, "c1", "you")).toBe("taken");
      const [seen] = await claims.others(first.id, "you");
      expect(seen).toEqual({ key: "c1", holder: "me", beat: 0, failure: undefined });
      expect(await claims.others(first.id, "me")).toEqual([]);
      if (seen === undefined) throw new Error("there is no claim");
      await claims.renew(first.id, "me");
      await claims.drop(first.id, seen);
      expect(await claims.take(first.id, "c1", "you")).toBe("taken");
      await claims.drop(first.id, { ...seen, beat: 1 });
      expect(await claims.take(first.id, "c1", "you")).toBe("own");
      await claims.fail(first.id, "c1", "me", "not mine");
      await claims.fail(first.id, "c1", "you", "broken");
      expect(await claims.others(first.id, "me")).toMatchObject([{ key: "c1", failure: "broken" }]);
      await claims.release(first.id, "you");
      expect(await claims.take(first.id, "c1", "me")).toBe("own");
      await store.addDocument(first.id, facts("c1", "c.md"), [chunk(0, "new")]);
      expect(await claims.others(first.id, "you")).toEqual([]);
      expect(await claims.take(first.id, "c1", "you")).toBe("known");
      await store.close();
    });

    test("a version is discarded for a claim only while that is held, and nobody else has one: REQ-K8", async () => {
      const { store, first } = await filled();
      const mine = { key: "pack", holder: "me" };
      const isThere = async () => ((await current(store))?.generations.length ?? 0) > 0;
      await store.discardGeneration(first.id, mine);
      expect(await isThere()).toBe(true);
      await store.claims.take(first.id, "pack", "me");
      await store.claims.take(first.id, "other", "you");
      await store.discardGeneration(first.id, mine);
      await store.discardGeneration(first.id, { key: "pack", holder: "you" });
      expect(await isThere()).toBe(true);
      await store.claims.release(first.id, "you");
      await store.discardGeneration(first.id, mine);
      expect(await isThere()).toBe(false);
      await store.close();
    });

    test("whatever was written is there for the next process, and the revision says that it changed", async () => {
      const { store, first } = await filled();
      const before = await store.revision();
      await store.promote(first.id);
      expect(await store.revision()).not.toBe(before);
      await store.saveQuestions("hand", [{ query: "what?", gold: ["a.md"] }]);
      const other = await reopen(store);
      expect(await other.revision()).toBe(await store.revision());
      expect(await other.questions("hand")).toEqual([{ query: "what?", gold: ["a.md"] }]);
      expect(await texts(other, first.id)).toEqual(["alpha", "beta", "gamma"]);
      await other.close();
      await store.close();
    });
  });
};
