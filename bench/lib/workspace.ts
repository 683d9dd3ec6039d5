import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Workspace extends AsyncDisposable {
  readonly path: string;
}

/** A small project in a folder of its own, gone when the benchmark is. */
export const createWorkspace = async (): Promise<Workspace> => {
  const path = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  await mkdir(join(path, "src"));
  const lines = Array.from({ length: 200 }, (_, i) => `export const value${i} = ${i};`);
  await Promise.all([
    writeFile(join(path, "README.md"), "# A small project\n\nIt is read again and again.\n"),
    ...["a", "b", "c", "d"].map((name) => writeFile(join(path, "src", `${name}.ts`), lines.join("\n"))),
  ]);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
};

const MODULES = "custom";

/** Puts the no-op module into the workspace; returns the arguments that make llmc load it. */
export const addNoopModule = async ({ path }: Workspace): Promise<readonly string[]> => {
  await mkdir(join(path, MODULES));
  await copyFile(new URL("../servers/noop-module.mjs", import.meta.url), join(path, MODULES, "noop.mjs"));
  return ["--mode", "classic", "--set", `mcp.tools.custom_modules=${MODULES}`];
};
