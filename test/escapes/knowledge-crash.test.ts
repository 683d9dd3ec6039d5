import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSqlStore } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { tempWorkspace } from "../app.ts";
import { rounds } from "../rounds.ts";

const MAIN = join(import.meta.dirname, "knowledge-crash-main.ts");
const DOCUMENTS = 300;
const KILLS = rounds(3, 50);
const TIMEOUT_MS = rounds(60_000, 1_200_000);

interface Ended {
  readonly isDone: boolean;
  /** From the first step of ingestion to the end of the process. */
  readonly ms: number;
}

/** Undefined: let it end by itself. */
const run = (root: string, killAfterMs: number | undefined): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, root, join(root, "state"), String(DOCUMENTS)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    let begunAt = 0;
    child.stdout.on("data", (piece: Buffer) => {
      output += piece.toString();
      if (begunAt !== 0) return;
      begunAt = performance.now();
      if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    });
    child.on("error", reject);
    child.on("close", () => resolve({ isDone: output.includes("done"), ms: performance.now() - begunAt }));
  });

/** Everything that the store has of the generation. */
const contentOf = async (root: string) => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: join(root, "state"),
    folder: join(root, ".llmc/kb"),
    onWarning: (message) => {
      throw new Error(message);
    },
  });
  const store = createSqlStore({ driver, workspace: root, now: () => 1 });
  const [generation] = (await store.collections())[0]?.generations ?? [];
  if (generation === undefined) {
    await store.close();
    return undefined;
  }
  const documents = await store.documents(generation.id);
  const passages = await Promise.all(documents.map(({ key }) => store.readDocument(generation.id, key)));
  const indexed: string[] = [];
  for await (const some of store.passages(generation.id))
    for (const { uri, terms, vector } of some)
      indexed.push([uri, Buffer.from(terms), Buffer.from(vector.buffer)].join());
  await store.close();
  return {
    state: generation.state,
    failures: generation.failures,
    documents,
    texts: passages.map((one) => one?.map(({ text, ordinal }) => [ordinal, text])),
    indexed: indexed.sort(),
  };
};

describe("ingestion that is killed", () => {
  test("FAIL-F6 FAIL-D7: the store opens, goes on, and ends as after a clean run", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const clean = tempWorkspace();
    const { isDone, ms } = await run(clean, undefined);
    expect(isDone).toBe(true);
    const expected = await contentOf(clean);
    expect(expected?.documents).toHaveLength(DOCUMENTS);
    expect(expected?.state).toBe("complete");
    let landed = 0;
    // A kill that comes before the first document, or after the last, proves nothing and is not counted.
    for (let round = 0; landed < KILLS; round++) {
      expect(round).toBeLessThan(KILLS * 4);
      const root = tempWorkspace();
      for (let kill = 0; kill < 2; kill++) {
        await run(root, Math.random() * ms);
        const left = await contentOf(root);
        if (left?.state === "open" && left.documents.length > 0 && left.documents.length < DOCUMENTS)
          landed++;
      }
      expect((await run(root, undefined)).isDone).toBe(true);
      expect(await contentOf(root)).toEqual(expected);
    }
  });

  test("FAIL-D7: a disk that is full ends it with a clear error and blames no document; later it goes on", async () => {
    const clean = tempWorkspace();
    expect((await run(clean, undefined)).isDone).toBe(true);
    const root = tempWorkspace();
    // No file grows beyond this: what SQLite meets is what a full disk gives. The signal is ignored, so that the write fails instead.
    const limited = `trap '' XFSZ; ulimit -f 400; exec "$0" "$@"`;
    const argv = [process.execPath, MAIN, root, join(root, "state"), String(DOCUMENTS)];
    const { status, stderr } = spawnSync("bash", ["-c", limited, ...argv], { encoding: "utf8" });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/The knowledge base store in \.llmc cannot be .*disk/);
    const left = await contentOf(root);
    expect(left?.state).toBe("open");
    expect(left?.documents.length).toBeLessThan(DOCUMENTS);
    expect(left?.failures).toBe(0);
    expect((await run(root, undefined)).isDone).toBe(true);
    expect(await contentOf(root)).toEqual(await contentOf(clean));
  });
});
