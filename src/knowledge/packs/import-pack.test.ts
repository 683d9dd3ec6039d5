import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { createPassageEmbedder } from "../search/passage-embedder.ts";
import type { Collection, Store } from "../store/contract.ts";
import { createSqlStore } from "../store/sql-store.ts";
import { createSqliteDriver } from "../store/sqlite-driver.ts";
import { parseVersion } from "../versions/semver.ts";
import { exportPack } from "./export-pack.ts";
import { importPack } from "./import-pack.ts";

const embedder = createPassageEmbedder();

/** Another process over the same store, where `root` is the same. */
const openStore = (root = tempWorkspace()): Store => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? root,
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  return createSqlStore({ driver, workspace: root, now: () => 1000 });
};

const packOf = async (uris: readonly string[], sources: readonly string[] = ["s"]): Promise<Uint8Array> => {
  const store = openStore();
  await store.createCollection("hand", "");
  const made = await store.openGeneration("hand", parseVersion("1.0.0"), {
    embedder: embedder.id,
    base: undefined,
  });
  const found = sources.flatMap((source) => uris.map((uri) => ({ uri, source })));
  for (const { uri, source } of found)
    await store.addDocument(
      made.id,
      {
        key: `${source} ${uri}`,
        uri,
        source,
        title: uri,
        format: "text",
        licence: undefined,
        version: undefined,
        hash: uri,
        bytes: 1,
        warnings: [],
      },
      [
        {
          ordinal: 0,
          kind: "prose",
          headings: [],
          anchor: undefined,
          page: undefined,
          startLine: 1,
          endLine: 1,
          text: uri,
          terms: new Uint8Array([1, 2, 3, 4, 1]),
          vector: new Int8Array([1, 0, 0, 0]),
        },
      ],
    );
  await store.completeGeneration(made.id, sources);
  const pack = await exportPack(store, { ...made, state: "complete" });
  await store.close();
  return pack;
};

const handIn = async (store: Store): Promise<Collection | undefined> =>
  (await store.collections()).find(({ name }) => name === "hand");

/** Stops before the second document is added, until it is let go on. */
const stopHalfway = (store: Store) => {
  const { addDocument } = store;
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let calls = 0;
  Object.assign(store, {
    addDocument: async (...args: Parameters<typeof addDocument>) => {
      if (++calls === 2) {
        reached.resolve();
        await goOn.promise;
      }
      await addDocument(...args);
    },
  });
  return { reached: reached.promise, goOn };
};

describe("an import of a pack: REQ-K8", { timeout: 30_000 }, () => {
  test("is not taken away by another one, as long as its process is alive", async () => {
    const pack = await packOf(["a.md", "b.md"]);
    const root = tempWorkspace();
    const [first, second] = [openStore(root), openStore(root)];
    const { reached, goOn } = stopHalfway(first);
    const running = importPack(first, embedder, { bytes: pack });
    await reached;
    const [before] = (await handIn(second))?.generations ?? [];
    await expect(importPack(second, embedder, { bytes: pack })).rejects.toMatchObject({ code: "busy" });
    goOn.resolve();
    expect(await running).toMatchObject({ documents: 2 });
    expect((await handIn(second))?.generations).toMatchObject([
      { id: before?.id, state: "complete", documents: 2 },
    ]);
    expect(await second.claims.others(before?.id ?? 0, "")).toEqual([]);
    await first.close();
    await second.close();
  });

  test("keeps each document of two sources that have documents of one name: FAIL-F1", async () => {
    const pack = await packOf(["docs/x.md", "docs/y.md"], ["/a/docs", "/b/docs"]);
    const store = openStore();
    expect(await importPack(store, embedder, { bytes: pack })).toMatchObject({ documents: 4 });
    const [imported] = (await handIn(store))?.generations ?? [];
    expect(imported).toMatchObject({ documents: 4, chunks: 4 });
    const uris = (await store.documents(imported?.id ?? 0)).map(({ uri }) => uri);
    expect(uris).toEqual(["docs/x.md", "docs/x.md", "docs/y.md", "docs/y.md"]);
    await store.close();
  });

  test("that was killed is gone on with by the next one; should it fail after that, it removes nothing and says why", async () => {
    const pack = await packOf(["a.md", "b.md"]);
    const root = tempWorkspace();
    const [first, second] = [openStore(root), openStore(root)];
    const { reached, goOn } = stopHalfway(first);
    Object.assign(first.claims, { renew: () => Promise.reject(new Error("killed")) });
    const running = importPack(first, embedder, { bytes: pack });
    await reached;
    expect(await importPack(second, embedder, { bytes: pack })).toMatchObject({ documents: 2 });
    goOn.reject(new Error("the disk is full"));
    await expect(running).rejects.toThrow("the disk is full");
    expect((await handIn(second))?.generations).toMatchObject([{ state: "complete", documents: 2 }]);
    await first.close();
    await second.close();
  });

  test("that fails before it has begun leaves no collection", async () => {
    const pack = await packOf(["a.md"]);
    const store = openStore();
    const { openGeneration } = store;
    Object.assign(store, { openGeneration: () => Promise.reject(new Error("the disk is full")) });
    await expect(importPack(store, embedder, { bytes: pack })).rejects.toThrow("the disk is full");
    expect(await store.collections()).toEqual([]);
    Object.assign(store, { openGeneration });
    expect(await importPack(store, embedder, { bytes: pack })).toMatchObject({ documents: 1 });
    await store.close();
  });

  test("that fails leaves nothing, and one whose traces cannot be removed says why it failed all the same", async () => {
    const pack = await packOf(["a.md", "b.md"]);
    const store = openStore();
    const fail = async (): Promise<unknown> => {
      const { reached, goOn } = stopHalfway(store);
      goOn.promise.catch(() => {});
      const running = importPack(store, embedder, { bytes: pack });
      running.catch(() => {});
      await reached;
      goOn.reject(new Error("the disk is full"));
      return running;
    };
    const { addDocument, discardGeneration } = store;
    await expect(fail()).rejects.toThrow("the disk is full");
    expect(await store.collections()).toEqual([]);
    Object.assign(store, {
      addDocument,
      discardGeneration: () => Promise.reject(new Error("the disk is still full")),
    });
    await expect(fail()).rejects.toThrow("the disk is full");
    // The next one goes on at once: the claim was given back.
    Object.assign(store, { addDocument, discardGeneration });
    expect(await importPack(store, embedder, { bytes: pack })).toMatchObject({ documents: 2 });
    await store.close();
  });
});
