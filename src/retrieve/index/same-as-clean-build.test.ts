import { spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createIndexed, dumpCleanBuild, dumpIndex, request, SETTINGS } from "../../../test/retrieval.ts";
import { rounds } from "../../../test/rounds.ts";
import { USER_STATE } from "../../../test/user-state.ts";

const PATHS = ["a.ts", "b.py", "docs/c.md", "docs/d.txt", "src/e.ts", "src/deep/f.go"] as const;

const CONTENTS = [
  "",
  "export const one = 1;\n",
  "export const two = 2;\n",
  "def three():\n    return 3\n",
  "# Four\n\nA heading and a paragraph.\n\n## Five\n\nMore.\n",
  "package six\n\nfunc Seven() int {\n\treturn 7\n}\n",
  "class Eight {\n  nine() {\n    return 9;\n  }\n}\n",
];

type Step =
  | { readonly do: "write"; readonly path: string; readonly text: string }
  | { readonly do: "move"; readonly path: string; readonly to: string }
  | { readonly do: "remove"; readonly path: string }
  | { readonly do: "index" | "search" | "cancel" | "reopen" };

const path = fc.constantFrom(...PATHS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("write" as const), path, text: fc.constantFrom(...CONTENTS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), path }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("index" as const, "search" as const, "cancel" as const, "reopen" as const),
    }),
  },
);

/** The files on the disk, and what they should be. */
const createFolder = (root: string) => {
  const files = new Map<string, string>();
  const at = (name: string): string => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    return join(root, name);
  };
  return {
    files,
    write: (name: string, text: string): void => {
      writeFileSync(at(name), text);
      files.set(name, text);
    },
    move: (name: string, to: string): void => {
      const text = files.get(name);
      if (text === undefined || name === to) return;
      renameSync(at(name), at(to));
      files.delete(name);
      files.set(to, text);
    },
    remove: (name: string): void => {
      rmSync(at(name), { force: true });
      files.delete(name);
    },
  };
};

const runSteps = async (steps: readonly Step[], watch: boolean): Promise<void> => {
  await using indexed = createIndexed({}, { watch });
  const folder = createFolder(indexed.path);
  let engine = indexed.retrieval;
  for (const one of steps) {
    if (one.do === "write") folder.write(one.path, one.text);
    else if (one.do === "move") folder.move(one.path, one.to);
    else if (one.do === "remove") folder.remove(one.path);
    else if (one.do === "index") await engine.index({});
    else if (one.do === "search") await engine.search(request("one two three"));
    else if (one.do === "reopen") {
      await engine.close();
      engine = indexed.another();
    } else {
      const controller = new AbortController();
      const run = engine.index({}, controller.signal, ({ phase }) => {
        if (phase === "index") controller.abort();
      });
      await run.catch(() => {});
    }
  }
  // One term each: a text that has one of six would be left out as irrelevant.
  const found = new Set<string>();
  for (const term of ["one", "two", "three", "four", "six", "eight"])
    for (const { path } of (await engine.search(request(term, { k: 50 }))).value) found.add(path);
  expect(found.size).toBe([...folder.files.values()].filter((text) => text !== "").length);
  await engine.index({});
  expect(dumpIndex(indexed.path)).toEqual(await dumpCleanBuild(folder.files));
};

describe("the index is that of a clean build", () => {
  test.each([false, true])(
    "REQ-R1 FAIL-F2: after any sequence of writes, moves, removals and runs that were cancelled (watch: %s)",
    async (watch) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), (steps) => runSteps(steps, watch)),
        {
          numRuns: rounds(4, 200),
          ...(process.env["LLMC_TEST_LONG"] === undefined ? { seed: 20_261_115 } : {}),
        },
      );
    },
    rounds(60_000, 600_000),
  );

  const ENGINE = pathToFileURL(join(import.meta.dirname, "../local-retrieval.ts")).href;

  /** Indexes in a process of its own, which is killed after so many files. */
  const indexElsewhere = (
    workspace: string,
    dieAfterFiles = Number.MAX_SAFE_INTEGER,
  ): Promise<NodeJS.Signals | null> =>
    new Promise((resolve, reject) => {
      const script = `
        const { createLocalRetrieval } = await import(${JSON.stringify(ENGINE)});
        const settings = ${JSON.stringify({ ...SETTINGS, threads: 1 })};
        const retrieval = createLocalRetrieval({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(USER_STATE)}, settings: () => settings, onWarning: () => {} });
        await retrieval.index({}, undefined, ({ phase, done }) => {
          if (phase === "index" && done >= ${dieAfterFiles}) process.kill(process.pid, "SIGKILL");
        });
        await retrieval.close();`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
      child.once("error", reject);
      child.once("exit", (_code, signal) => resolve(signal));
    });

  test("FAIL-F6 REQ-R11: after two kills in the midst of indexing, the next run goes on and ends the same", async () => {
    const files = new Map(
      Array.from({ length: 200 }, (_, i) => [
        `src/part${i % 7}/file${i}.ts`,
        `export function work${i}(input: number): number {\n  return input * ${i};\n}\n`.repeat(1 + (i % 5)),
      ]),
    );
    await using indexed = createIndexed(Object.fromEntries(files));
    expect(await indexElsewhere(indexed.path, 30)).toBe("SIGKILL");
    const before = dumpIndex(indexed.path).length;
    expect(before).toBeGreaterThan(0);
    expect(await indexElsewhere(indexed.path, before + 30)).toBe("SIGKILL");
    expect(dumpIndex(indexed.path).length).toBeGreaterThan(before);
    expect(dumpIndex(indexed.path).length).toBeLessThan(files.size);
    const { added } = await indexed.retrieval.index({});
    expect(added).toBeLessThan(files.size - before);
    expect(dumpIndex(indexed.path)).toEqual(await dumpCleanBuild(files));
  });

  test("several processes that index at once, one of which is killed, end in the same index", async () => {
    const files = new Map(
      Array.from({ length: 120 }, (_, i) => [`src/file${i}.py`, `def work_${i}(x):\n    return x + ${i}\n`]),
    );
    await using indexed = createIndexed(Object.fromEntries(files));
    const ends = await Promise.all([
      indexElsewhere(indexed.path),
      indexElsewhere(indexed.path, 40),
      indexed.retrieval.index({}),
    ]);
    expect(ends[0]).toBe(null);
    expect(ends[2]).toMatchObject({ files: 120 });
    expect(dumpIndex(indexed.path)).toEqual(await dumpCleanBuild(files));
  });
});
