import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { createIndexed, request, SETTINGS } from "../../test/retrieval.ts";
import { USER_STATE } from "../../test/user-state.ts";
import { createThreadRetrieval } from "./thread-retrieval.ts";

const BIRDS = "export function countFlamingos(pond: string[]): number {\n  return pond.length;\n}\n";

const openIn = (workspace: string, onWarning: (message: string) => void = () => {}) =>
  createThreadRetrieval({
    workspace,
    userState: USER_STATE,
    settings: () => ({ ...SETTINGS, threads: 1 }),
    onWarning,
  });

describe("the engine in a thread", () => {
  test("answers as the one without, tells progress and ends", async () => {
    await using folder = createIndexed({ "a.ts": BIRDS, "b.md": "# Ponds\n\nWhere flamingos are.\n" });
    const retrieval = openIn(folder.path);
    const phases = new Set<string>();
    const report = await retrieval.index({}, undefined, ({ phase }) => phases.add(phase));
    expect(report).toMatchObject({ files: 2, added: 2 });
    expect([...phases]).toEqual(["list", "index"]);
    const { value } = await retrieval.search(request("count flamingos"));
    expect(value[0]).toMatchObject({ path: "a.ts", startLine: 1 });
    expect((await retrieval.whereUsed("countFlamingos")).value.definitions[0]?.path).toBe("a.ts");
    expect(await retrieval.stats()).toMatchObject({ files: 2, index: { state: "ready" } });
    await retrieval.close();
    await expect(retrieval.stats()).rejects.toThrow("closed");
  });

  test("FAIL-D6: while it indexes, this thread goes on", async () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`f${i}.ts`, BIRDS.repeat(20)]));
    await using folder = createIndexed(many);
    const retrieval = openIn(folder.path);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await retrieval.index({});
    clearInterval(timer);
    expect(turns).toBeGreaterThan(20);
    await retrieval.close();
  });

  test("FAIL-D5: a cancelled run is over at once, and leaves no lock to the next", async () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`f${i}.ts`, BIRDS.repeat(20)]));
    await using folder = createIndexed(many);
    const retrieval = openIn(folder.path);
    const controller = new AbortController();
    const run = retrieval.index({}, controller.signal, ({ phase }) => {
      if (phase === "index") controller.abort();
    });
    await expect(run).rejects.toMatchObject({ code: "cancelled" });
    expect(await folder.retrieval.index({})).toMatchObject({ files: 80 });
    await retrieval.close();
  });

  test("an engine that nobody closed does not keep the process alive", async () => {
    await using folder = createIndexed({ "a.ts": BIRDS });
    const engine = pathToFileURL(join(import.meta.dirname, "thread-retrieval.ts")).href;
    const script = `
      const { createThreadRetrieval } = await import(${JSON.stringify(engine)});
      const settings = ${JSON.stringify({ ...SETTINGS, watch: true, threads: 1 })};
      const retrieval = createThreadRetrieval({ workspace: ${JSON.stringify(folder.path)}, userState: ${JSON.stringify(USER_STATE)}, settings: () => settings, onWarning: () => {} });
      const { value } = await retrieval.search({ query: "flamingos", scope: "both", k: 3, budgetTokens: 1000 });
      process.stdout.write(value[0].path);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 20_000,
    });
    const output = child.stdout.setEncoding("utf8").toArray();
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect([code, (await output).join("")]).toEqual([0, "a.ts"]);
  });

  test("a warning reaches whoever opened it", async () => {
    await using folder = createIndexed({ "a.ts": BIRDS });
    folder.write(".llmc", "");
    const warnings: string[] = [];
    const retrieval = openIn(folder.path, (message) => warnings.push(message));
    await retrieval.index({});
    expect(warnings.join()).toContain("memory");
    await retrieval.close();
  });
});
