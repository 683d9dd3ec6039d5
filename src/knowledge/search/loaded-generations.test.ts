import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { hashTerm, packTerms } from "../../retrieve/terms/packed-terms.ts";
import type { Collection, Generation, Store } from "../store/contract.ts";
import { createSqlStore } from "../store/sql-store.ts";
import { createSqliteDriver } from "../store/sqlite-driver.ts";
import { parseVersion } from "../versions/semver.ts";
import { createLoadedGenerations } from "./loaded-generations.ts";
import { openIndex } from "./stored-index.ts";

const DIMENSIONS = 4;
const QUERY = { prose: Int8Array.of(1, 0, 0, 0), code: Int8Array.of(1, 0, 0, 0) };
const MINUTE = 60_000;

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

const term = (text: string): Uint8Array =>
  packTerms(
    1,
    () => hashTerm(text),
    () => 1,
  );

/** A version with passages of one term each. */
const addVersion = async (store: Store, version: string, uris: readonly string[]): Promise<Generation> => {
  const made = await store.openGeneration("hand", parseVersion(version), { embedder: "e", base: undefined });
  for (const uri of uris)
    await store.addDocument(
      made.id,
      {
        key: `${version}/${uri}`,
        uri,
        source: "s",
        title: uri,
        format: "text",
        licence: undefined,
        version: undefined,
        hash: `${version}/${uri}`,
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
          terms: term(uri.replace(/\W.*/, "")),
          vector: new Int8Array([uris.indexOf(uri) + 1, 1, 0, 0]),
        },
      ],
    );
  await store.completeGeneration(made.id, ["s"]);
  return { ...made, state: "complete", chunks: uris.length, documents: uris.length };
};

const handIn = async (store: Store): Promise<Collection> => {
  const [found] = await store.collections();
  if (found === undefined) throw new Error("there is no collection");
  return found;
};

const activeOf = ({ generations, active }: Collection): Generation => {
  const found = generations.find(({ version }) => version === active);
  if (found === undefined) throw new Error("nothing is active");
  return found;
};

const open = async (maxBytes = 1e9) => {
  const store = openStore();
  await store.createCollection("hand", "");
  let nowMs = 1000;
  const loaded = createLoadedGenerations({
    store,
    dimensions: DIMENSIONS,
    nearestRows: undefined,
    holder: "server",
    now: () => nowMs,
    maxBytes: () => maxBytes,
    collections: () => store.collections(),
  });
  /** As a call without a version does it. */
  const ask = async (): Promise<string> => {
    const collection = await handIn(store);
    const generation = await loaded.answering(activeOf(collection), collection);
    await loaded.use(generation, ({ index }) => index.search("apple", QUERY, 3, { prose: 0.5, code: 0.5 }));
    return generation.version;
  };
  const promote = async (version: string): Promise<void> => {
    await store.promote((await addVersion(store, version, ["apple.md", "pear.md"])).id);
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { store, loaded, ask, promote, pass, now: () => nowMs };
};

describe("generations in memory", () => {
  test("a version that was replaced is given up, so that it can be collected while the server runs: REQ-K2", async () => {
    const { store, loaded, ask, promote, now } = await open();
    await promote("1.0.0");
    expect(await ask()).toBe("1.0.0");
    expect((await store.collect("hand", 0, now())).generations).toEqual([]);
    await promote("1.1.0");
    expect(await ask()).toBe("1.1.0");
    expect(loaded.loaded()).toEqual(["1.1.0"]);
    await loaded.close();
    expect((await store.collect("hand", 0, now())).generations).toEqual(["1.0.0"]);
    await store.close();
  });

  test("without any question, a promoted version is loaded and the one before it is given up: REQ-K2", async () => {
    const { store, loaded, ask, promote, now } = await open();
    await promote("1.0.0");
    await ask();
    await promote("1.1.0");
    await loaded.sweep();
    await expect.poll(loaded.loaded).toEqual(["1.1.0"]);
    await expect
      .poll(async () => (await store.collect("hand", 0, now())).generations, { timeout: 5000 })
      .toEqual(["1.0.0"]);
    await loaded.close();
    await store.close();
  });

  test("what runs on a version keeps it; what nobody asks for goes after its time: REQ-K2", async () => {
    const { store, loaded, ask, promote, pass, now } = await open();
    await promote("1.0.0");
    await ask();
    const old = activeOf(await handIn(store));
    let end = (): void => {};
    const running = loaded.use(
      old,
      () =>
        new Promise<void>((go) => {
          end = go;
        }),
    );
    await promote("1.1.0");
    expect(await ask()).toBe("1.1.0");
    pass(20 * MINUTE);
    await loaded.sweep();
    expect(loaded.loaded()).toEqual(["1.0.0"]);
    expect((await store.collect("hand", 0, now())).generations).toEqual([]);
    end();
    await running;
    // Asked for by its version a moment ago: kept for a minute, and not for ten.
    await loaded.use(old, () => {});
    await loaded.sweep();
    expect(loaded.loaded()).toEqual(["1.0.0"]);
    pass(2 * MINUTE);
    await loaded.sweep();
    expect(loaded.loaded()).toEqual([]);
    await loaded.close();
    await store.close();
  });

  test("beyond the memory for indexes, the one that was asked longest ago goes, and never what is in use: REQ-K9", async () => {
    const { store, loaded, promote, pass } = await open(1);
    await promote("1.0.0");
    await promote("1.1.0");
    const [second, first] = (await handIn(store)).generations;
    if (first === undefined || second === undefined) throw new Error("there are no versions");
    await loaded.use(first, async () => {
      pass(1);
      await loaded.use(second, () => {});
      expect(loaded.loaded()).toEqual(["1.0.0", "1.1.0"]);
    });
    expect(loaded.loaded()).toEqual(["1.1.0"]);
    await loaded.close();
    await store.close();
  });

  test("what is asked for again while others are released stays: REQ-K2", async () => {
    const { store, loaded, promote } = await open();
    await promote("1.0.0");
    await promote("1.1.0");
    const [second, first] = (await handIn(store)).generations;
    if (first === undefined || second === undefined) throw new Error("there are no versions");
    await loaded.use(first, () => {});
    await loaded.use(second, () => {});
    const { release } = store;
    const [released, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(store, {
      release: async (id: number, holder: string) => {
        await released.promise;
        await release(id, holder);
      },
    });
    // The first waits for the release of 1.0.0; meanwhile 1.1.0 is given up and asked for again.
    const dropping = [loaded.dropIdle(), loaded.dropIdle()];
    const running = loaded.use(second, () => ended.promise);
    released.resolve();
    await Promise.all(dropping);
    expect(loaded.loaded()).toEqual(["1.1.0"]);
    ended.resolve();
    await running;
    await loaded.close();
    await store.close();
  });

  test("the version before answers until the promoted one is loaded; after a rollback it does not: REQ-K2", async () => {
    const { store, loaded, ask, promote } = await open();
    await promote("1.0.0");
    await ask();
    await promote("1.1.0");
    const { header } = store.indexes;
    let letGo = (): void => {};
    const held = new Promise<void>((go) => {
      letGo = go;
    });
    Object.assign(store.indexes, {
      header: async (id: number) => {
        await held;
        return header(id);
      },
    });
    expect(await ask()).toBe("1.0.0");
    expect(await ask()).toBe("1.0.0");
    letGo();
    await expect.poll(ask).toBe("1.1.0");
    await store.rollback("hand");
    expect(await ask()).toBe("1.0.0");
    await loaded.close();
    await store.close();
  });
});

describe("a stored index", () => {
  const found = async (store: Store, generation: Generation, builder: string) => {
    const opened = await openIndex(store, generation, DIMENSIONS, builder);
    return (
      opened && { ids: [...opened.arrays.ids], prose: [...opened.arrays.prose], language: opened.language }
    );
  };

  test("that cannot be saved is searched all the same, and somebody is told why: REQ-K9", async () => {
    const store = openStore();
    await store.createCollection("hand", "");
    const generation = await addVersion(store, "1.0.0", ["a.py"]);
    const reasons: unknown[] = [];
    const full = new Error("the disk is full");
    for (const method of ["add", "begin"] as const) {
      const indexes = { ...store.indexes, [method]: () => Promise.reject(full) };
      const opened = await openIndex({ ...store, indexes }, generation, DIMENSIONS, method, (error) => {
        reasons.push(error);
      });
      expect(opened?.arrays.ids).toHaveLength(1);
    }
    expect(reasons).toEqual([full, full]);
    await store.close();
  });

  test("is what was built, with the language of most documents; a damaged one is built again: REQ-K9", async () => {
    const store = openStore();
    await store.createCollection("hand", "");
    const generation = await addVersion(store, "1.0.0", ["a.py", "b.py", "c.md"]);
    const built = await found(store, generation, "b1");
    expect(built).toMatchObject({ language: "python" });
    const header = await store.indexes.header(generation.id);
    expect(header).toBeDefined();
    expect(await found(store, generation, "b2")).toEqual(built);
    // It was loaded: nobody has built another one.
    expect(await store.indexes.header(generation.id)).toBe(header);
    await store.indexes.begin(generation.id, "b3");
    await store.indexes.add(generation.id, "b3", { section: "ids", piece: 0, bytes: new Uint8Array(24) });
    await store.indexes.finish(generation.id, "b3", header ?? "");
    expect(await found(store, generation, "b4")).toEqual(built);
    expect((await store.indexes.part(generation.id, "ids", 0))?.some((byte) => byte !== 0)).toBe(true);
    await store.close();
  });

  type Damage = readonly [string, (header: Record<string, Record<string, unknown>>) => unknown];
  const changed = (name: string, facts: unknown): Damage[1] => {
    return (header) => ({ ...header, sections: { ...header["sections"], [name]: facts } });
  };
  const DAMAGES: readonly Damage[] = [
    ["is not JSON", () => undefined],
    ["is no object", () => 7],
    ["has no sections", ({ sections: _, ...rest }) => rest],
    ["has sections that are no object", (header) => ({ ...header, sections: "all" })],
    ["lacks a section", changed("postings", undefined)],
    ["has a section without facts", changed("hashes", null)],
    ["has a length that is no number", changed("starts", { bytes: "12", sha256: "" })],
    ["has a negative length", changed("starts", { bytes: -4, sha256: "" })],
    ["has a length beyond all memory", changed("prose", { bytes: 2 ** 52, sha256: "" })],
    ["has a wrong sum", changed("ids", { bytes: 24, sha256: "0".repeat(64) })],
    ["has a wrong length", changed("ids", { bytes: 16, sha256: "0".repeat(64) })],
    ["has a language that is no text", (header) => ({ ...header, language: 7 })],
    ["is of another format", (header) => ({ ...header, format: 0 })],
  ];
  test.each(DAMAGES)("whose header %s is built again, and saved: REQ-K9", async (_, damage) => {
    const store = openStore();
    await store.createCollection("hand", "");
    const generation = await addVersion(store, "1.0.0", ["a.py", "b.py", "c.md"]);
    const built = await found(store, generation, "b1");
    const header = await store.indexes.header(generation.id);
    const damaged = JSON.stringify(damage(JSON.parse(header ?? "{}"))) ?? '{"format":1,';
    await store.indexes.finish(generation.id, "b1", damaged);
    expect(await store.indexes.header(generation.id)).toBe(damaged);
    expect(await found(store, generation, "b2")).toEqual(built);
    expect(await store.indexes.header(generation.id)).toBe(header);
    await store.close();
  });
});
