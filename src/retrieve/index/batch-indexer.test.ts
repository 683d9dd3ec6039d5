import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { isLong, someOf } from "../../../test/rounds.ts";
import { SAMPLES } from "../../../test/syntax-samples.ts";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { type BatchIndexer, createBatchIndexer, type ListedRequest } from "./batch-indexer.ts";
import { createFileIndexer, type FileResult } from "./file-indexer.ts";

const MIB = 1024 * 1024;

/** Every thread compiles the grammar of every language that it meets, which takes far longer than these files. */
const FEW_SAMPLES = SAMPLES.slice(0, 4);

/** Files of each sample's language, and some of no language. */
const filesOf = (bytes: number, samples: typeof SAMPLES): Readonly<Record<string, string>> => {
  const files: Record<string, string> = { "notes.md": "# Words\n\nMore words.\n", "empty.txt": "" };
  const each = bytes / samples.length;
  for (const { path, source } of samples) {
    const times = Math.ceil(each / 40_000);
    for (let i = 0; i < times; i++)
      files[`${path.replace(".", `-${i}.`)}`] = `${source}\n`.repeat(Math.ceil(each / times / source.length));
  }
  return files;
};

/** The listed sizes decide how many threads are used: twenty times the real ones call for two. */
const SIZE_FACTOR = 20;

const SETTINGS = { roots: ["."], denylist: [], maxFileBytes: 8 * MIB, watch: false };

const openBatchIndexer = (root: string, fileTimeoutMs?: number): BatchIndexer => {
  const embedderFiles = readEmbedderFiles();
  const indexer = createFileIndexer(root, createStaticEmbedder(embedderFiles));
  const batches = createBatchIndexer(root, embedderFiles, indexer, fileTimeoutMs);
  onTestFinished(async () => {
    await batches.close();
    indexer.close();
  });
  return batches;
};

const indexAll = async (
  root: string,
  requests: readonly ListedRequest[],
  threads: number,
  fileTimeoutMs?: number,
): Promise<FileResult[]> => {
  const results: FileResult[] = [];
  const onResults = (some: readonly FileResult[]): void => void results.push(...some);
  await openBatchIndexer(root, fileTimeoutMs).run(requests, { ...SETTINGS, threads }, onResults, undefined);
  return results.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** Whether the stamp of a file can be trusted depends on how long ago it was written. */
const withoutStamps = (results: readonly FileResult[]) => results.map((result) => ({ ...result, stamp: "" }));

const workspaceOf = (bytes: number, samples: typeof SAMPLES = FEW_SAMPLES) => {
  const files = filesOf(bytes, samples);
  const root = tempWorkspace(files);
  writeFileSync(join(root, "binary.dat"), Buffer.from([0, 1, 2, 0, 255]));
  const paths = [...Object.keys(files), "binary.dat", "gone.ts"];
  const requests = paths.map((path) => ({
    path,
    hash: undefined,
    size: SIZE_FACTOR * (files[path]?.length ?? 5),
    stamp: "",
  }));
  return { root, requests };
};

describe("many files are indexed the same way, here or in a pool", () => {
  test("REQ-R1: in the calling thread, and in a pool of two threads", async () => {
    const samples = isLong ? SAMPLES : someOf(SAMPLES);
    const { root, requests } = workspaceOf(MIB / 4, samples);
    const here = await indexAll(root, requests, 0);
    expect(here).toHaveLength(requests.length);
    expect(here.filter(({ kind }) => kind === "parsed").length).toBeGreaterThan(samples.length);
    expect(withoutStamps(await indexAll(root, requests, 2))).toEqual(withoutStamps(here));
  });

  const fallbackOf = (result: FileResult | undefined) =>
    result?.kind === "parsed" ? result.entry.fallback : result?.kind;

  test("FAIL-F5: a large file is indexed in a thread that ends when it takes too long, and then as plain text", async () => {
    const root = tempWorkspace({
      "large.ts": "export const one = 1;\n".repeat(4000),
      "small.ts": "export const two = 2;\n",
    });
    // Listed before the file grew.
    const requests = ["large.ts", "small.ts"].map((path) => ({ path, hash: undefined, size: 30, stamp: "" }));
    const [large, small] = await indexAll(root, requests, 2);
    expect([fallbackOf(large), fallbackOf(small)]).toEqual([undefined, undefined]);
    // No thread starts within a millisecond.
    const [late, inTime] = await indexAll(root, requests, 2, 1);
    expect([fallbackOf(late), fallbackOf(inTime)]).toEqual(["parsing takes too long", undefined]);
    expect(late).toMatchObject({ kind: "parsed", entry: { language: "typescript" } });
    const inPool = requests.map((request) => ({ ...request, size: MIB }));
    expect((await indexAll(root, inPool, 2, 1)).map(fallbackOf)).toEqual([
      "parsing takes too long",
      "parsing takes too long",
    ]);
  });

  test("a file over the limit of the settings is large, in the calling thread and in a pool", async () => {
    const root = tempWorkspace({ "huge.ts": "export const one = 1;\n".repeat(MIB / 2) });
    const request = { path: "huge.ts", hash: undefined, stamp: "" };
    const kinds = [1, 8 * MIB].map(
      async (size) => (await indexAll(root, [{ ...request, size }], 1))[0]?.kind,
    );
    expect(await Promise.all(kinds)).toEqual(["large", "large"]);
  });

  test("FAIL-D5: an aborted run stops, and the next one is complete", async () => {
    const { root, requests } = workspaceOf(MIB / 4);
    const batches = openBatchIndexer(root);
    const settings = { ...SETTINGS, threads: 2 };
    const gone = new AbortController();
    const seen: FileResult[] = [];
    const stopped = batches.run(
      requests,
      settings,
      (results) => {
        seen.push(...results);
        gone.abort();
      },
      gone.signal,
    );
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(seen.length).toBeLessThan(requests.length);
    const taken = seen.length;
    const whole: FileResult[] = [];
    await batches.run(requests, settings, (results) => void whole.push(...results), undefined);
    expect(whole).toHaveLength(requests.length);
    // The caller who aborted may have closed the index meanwhile.
    expect(seen).toHaveLength(taken);
  });

  test("a failure to store the results ends the run", async () => {
    const { root, requests } = workspaceOf(MIB / 4);
    const onResults = (): void => {
      throw new Error("disk full");
    };
    const run = openBatchIndexer(root).run(requests, { ...SETTINGS, threads: 2 }, onResults, undefined);
    await expect(run).rejects.toThrow("disk full");
  });
});
