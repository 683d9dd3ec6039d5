import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWordModel, dumpVectors } from "../../../test/embedding-model.ts";
import { createIndexed, dumpCleanBuild, dumpIndex, request, SETTINGS } from "../../../test/retrieval.ts";
import { rounds } from "../../../test/rounds.ts";
import { USER_STATE } from "../../../test/user-state.ts";
import { LlmcError } from "../../base/error.ts";

const FILES = {
  "src/garage.ts": "export function park(automobile: string): string {\n  return automobile;\n}\n",
  "src/zoo.ts": "export function feed(feline: string): string {\n  return feline;\n}\n",
  "notes.md": "# Canine\n\nHow to walk it.\n",
};

const many = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`f${i}.ts`, `export const item${i} = "thing number ${i}";\n`]),
  );

const cleanVectors = async (files: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
  await using clean = createIndexed(files, {}, createWordModel());
  await clean.retrieval.index({});
  return dumpVectors(clean.path);
};

describe("vectors of a model", () => {
  test("REQ-R3: what shares no word with the question is found by the model's vectors, of its own length", async () => {
    const model = createWordModel();
    await using indexed = createIndexed(FILES, {}, model);
    expect((await indexed.find("car"))[0]).toBe("src/garage.ts");
    expect((await indexed.find("cat"))[0]).toBe("src/zoo.ts");
    expect((await indexed.find("dog", { scope: "docs" }))[0]).toBe("notes.md");
    expect(await indexed.retrieval.stats()).toMatchObject({ embedder: "words-a", index: { state: "ready" } });
    expect(model.asked.toSorted()).toEqual(Object.keys(FILES).toSorted());
  });

  test("what is stored is used again, and parsing is the same as without a model", async () => {
    await using indexed = createIndexed(FILES, {}, createWordModel());
    await indexed.retrieval.index({});
    const again = createWordModel();
    const { value } = await indexed.another(again).search(request("car"));
    expect(value[0]?.path).toBe("src/garage.ts");
    expect(again.asked).toEqual([]);
    await indexed.another(again).index({ force: true });
    expect(again.asked).toEqual([]);
    expect(dumpIndex(indexed.path)).toEqual(await dumpCleanBuild(new Map(Object.entries(FILES))));
  });

  test("REQ-R1: another model makes all vectors anew, parses nothing, and none of the old are left", async () => {
    await using indexed = createIndexed(FILES, {}, createWordModel("words-a", 24));
    await indexed.retrieval.index({});
    await indexed.retrieval.close();
    const other = createWordModel("words-b", 40);
    const engine = indexed.another(other);
    expect(await engine.index({})).toMatchObject({ files: 3, added: 0, changed: 0 });
    expect(other.asked).toHaveLength(3);
    expect((await engine.search(request("cat"))).value[0]?.path).toBe("src/zoo.ts");
    expect(dumpVectors(indexed.path)).toMatchObject(
      Object.keys(FILES)
        .toSorted()
        .map((path) => ({ embedder: "words-b", path })),
    );
  });

  test("REQ-R6 FAIL-F2: an edit, a new, a renamed and a deleted file have the vectors of what they are", async () => {
    const model = createWordModel();
    await using indexed = createIndexed(FILES, {}, model);
    await indexed.find("car");
    model.asked.length = 0;
    indexed.write("src/garage.ts", "export const vessel = 1;\n");
    indexed.write("src/new.ts", "export const automobile = 1;\n");
    indexed.remove("src/zoo.ts");
    expect((await indexed.find("car"))[0]).toBe("src/new.ts");
    expect(model.asked.toSorted()).toEqual(["src/garage.ts", "src/new.ts"]);
    expect(await indexed.find("cat")).not.toContain("src/zoo.ts");
    await indexed.retrieval.close();
    const engine = indexed.another(createWordModel());
    await engine.index({});
    expect(dumpVectors(indexed.path)).toEqual(
      await cleanVectors({
        "src/garage.ts": "export const vessel = 1;\n",
        "src/new.ts": "export const automobile = 1;\n",
        "notes.md": FILES["notes.md"],
      }),
    );
  });

  test("FAIL-F2: a file that changes while vectors are made never gets those of its old text", async () => {
    const model = createWordModel();
    await using indexed = createIndexed(FILES, {}, model);
    const changed = "export const vessel = 1;\n";
    let batches = 0;
    model.onBatch = () => {
      if (batches++ === 0)
        for (const path of Object.keys(FILES)) writeFileSync(join(indexed.path, path), changed);
    };
    await indexed.retrieval.index({});
    // What was made of the new text must not be taken for the old one's when that is back.
    for (const [path, text] of Object.entries(FILES)) indexed.write(path, text);
    await indexed.retrieval.index({});
    expect(dumpVectors(indexed.path)).toEqual(await cleanVectors(FILES));
  });

  test("FAIL-D5: a run that is cancelled keeps what it made, and the next one makes the rest", async () => {
    const model = createWordModel();
    await using indexed = createIndexed(many(150), {}, model);
    const controller = new AbortController();
    model.onBatch = () => {
      if (model.asked.length === 100) controller.abort();
    };
    await expect(indexed.retrieval.index({}, controller.signal)).rejects.toMatchObject({ code: "cancelled" });
    await indexed.retrieval.close();
    const kept = dumpVectors(indexed.path).length;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(150);
    const next = createWordModel();
    const phases = new Set<string>();
    await indexed.another(next).index({}, undefined, ({ phase }) => phases.add(phase));
    expect(next.asked).toHaveLength(150 - kept);
    expect(phases).toContain("embed");
    expect(dumpVectors(indexed.path)).toEqual(await cleanVectors(many(150)));
  });

  test("FAIL-F6 REQ-R11: after a kill in the midst of it, the next run goes on and ends the same", async () => {
    const files = many(150);
    await using indexed = createIndexed(files, {}, createWordModel());
    const module = (path: string): string =>
      JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);
    const script = `
      const { createLocalRetrieval } = await import(${module("../local-retrieval.ts")});
      const { createWordModel } = await import(${module("../../../test/embedding-model.ts")});
      const model = createWordModel();
      model.onBatch = () => { if (model.asked.length >= 90) process.kill(process.pid, "SIGKILL"); };
      const settings = ${JSON.stringify(SETTINGS)};
      const retrieval = createLocalRetrieval({ workspace: ${JSON.stringify(indexed.path)}, userState: ${JSON.stringify(USER_STATE)}, settings: () => settings, onWarning: () => {}, model });
      await retrieval.index({});`;
    const signal = await new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
      child.once("error", reject);
      child.once("exit", (_code, by) => resolve(by));
    });
    expect(signal).toBe("SIGKILL");
    const kept = dumpVectors(indexed.path).length;
    expect(kept).toBeGreaterThan(0);
    await indexed.retrieval.index({});
    expect(dumpVectors(indexed.path)).toEqual(await cleanVectors(files));
  });

  test(
    "REQ-R1: any sequence of writes, removals, questions, cancelled runs and new starts ends as a clean build does",
    async () => {
      const path = fc.constantFrom("a.ts", "b.md", "c/d.py");
      const text = fc.constantFrom(
        "",
        "export const one = 1;\n",
        "# Two\n\nThree.\n",
        "def four():\n    return 4\n",
      );
      const step = fc.oneof(
        { weight: 3, arbitrary: fc.record({ path, text }) },
        { weight: 1, arbitrary: fc.record({ path, text: fc.constant(undefined) }) },
        { weight: 3, arbitrary: fc.constantFrom("search" as const, "cancel" as const, "reopen" as const) },
      );
      const runSteps = async (steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) => {
        await using indexed = createIndexed({}, {}, createWordModel());
        const files = new Map<string, string>();
        let engine = indexed.retrieval;
        for (const one of steps) {
          if (one === "search") await engine.search(request("one three four"));
          else if (one === "cancel") {
            const controller = new AbortController();
            const abort = (): void => controller.abort();
            await engine
              .index({}, controller.signal, ({ phase }) => {
                if (phase === "embed") abort();
              })
              .catch(() => {});
          } else if (one === "reopen") {
            await engine.close();
            engine = indexed.another();
          } else if (one.text !== undefined) {
            indexed.write(one.path, one.text);
            files.set(one.path, one.text);
          } else if (files.delete(one.path)) indexed.remove(one.path);
        }
        await engine.index({});
        await engine.close();
        await indexed.another().index({});
        expect(dumpVectors(indexed.path)).toEqual(await cleanVectors(Object.fromEntries(files)));
      };
      await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), runSteps), {
        numRuns: rounds(3, 40),
        ...(process.env["LLMC_TEST_LONG"] === undefined ? { seed: 20_261_115 } : {}),
      });
    },
    rounds(60_000, 600_000),
  );

  test("two engines on one workspace make each vector once", async () => {
    const [first, second] = [createWordModel(), createWordModel()];
    await using indexed = createIndexed(many(40), {}, first);
    await Promise.all([indexed.retrieval.index({}), indexed.another(second).index({})]);
    expect([...first.asked, ...second.asked].toSorted()).toEqual(Object.keys(many(40)).toSorted());
  });

  test("FAIL-F5: a file on which the model fails is found by its words, and the others by their vectors", async () => {
    const model = createWordModel();
    model.onBatch = (texts) => {
      if (texts.some((text) => text.includes("poison"))) throw new Error("native failure");
    };
    await using indexed = createIndexed({ ...FILES, "bad.ts": "export const poison = 1;\n" }, {}, model);
    await indexed.retrieval.index({});
    expect((await indexed.find("car"))[0]).toBe("src/garage.ts");
    expect(await indexed.find("poison").catch(() => "refused")).toBe("refused");
    model.onBatch = () => {};
    expect((await indexed.find("poison"))[0]).toBe("bad.ts");
    expect(indexed.warnings.join()).toContain("fails on a file");
  });

  test("a model that is missing refuses to index and to search, answers the rest, and is taken once it is there", async () => {
    const model = createWordModel();
    model.onOpen = () => {
      throw new LlmcError("unavailable", "A package is missing.", { hint: "Install it." });
    };
    await using indexed = createIndexed(FILES, {}, model);
    for (const asked of [indexed.retrieval.index({}), indexed.retrieval.search(request("car"))])
      await expect(asked).rejects.toMatchObject({ code: "unavailable", hint: "Install it." });
    expect((await indexed.retrieval.whereUsed("park")).value.definitions[0]?.path).toBe("src/garage.ts");
    expect((await indexed.retrieval.stats()).embedder).toBe("missing: A package is missing");
    model.onOpen = () => {};
    expect((await indexed.find("car"))[0]).toBe("src/garage.ts");
  });

  test("a model that is replaced under a running engine is gone over to", async () => {
    const model = createWordModel("words-a", 24);
    await using indexed = createIndexed(FILES, {}, model);
    await indexed.find("car");
    Object.assign(model, { id: "words-b", dimensions: 40 });
    let isOld = true;
    model.onBatch = () => {
      if (!isOld) return;
      isOld = false;
      throw new LlmcError("unavailable", "Replaced.", { retryable: true });
    };
    expect((await indexed.find("cat"))[0]).toBe("src/zoo.ts");
    expect(await indexed.retrieval.stats()).toMatchObject({ embedder: "words-b" });
    expect(dumpVectors(indexed.path)).toMatchObject([
      { embedder: "words-b" },
      { embedder: "words-b" },
      { embedder: "words-b" },
    ]);
  });

  test("FAIL-D6: a model that takes its time holds up no question for long, and the answer says what it lacks", async () => {
    const model = createWordModel();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    model.onBatch = (texts) => (texts.includes("automobile") ? undefined : released);
    await using indexed = createIndexed(FILES, {}, model);
    const { value, index, notes } = await indexed.retrieval.search(request("automobile"));
    expect(value[0]?.path).toBe("src/garage.ts");
    expect(index).toEqual({ state: "building", done: 0, total: 3 });
    expect(notes.join()).toContain("vectors of 3 of 3 files");
    release();
    await indexed.retrieval.index({});
    expect((await indexed.retrieval.search(request("car"))).notes).toEqual([]);
  }, 30_000);
});
