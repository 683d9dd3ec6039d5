import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LlmcError } from "../base/error.ts";
import type { CacheFile } from "../host/own-files/cache-file.ts";
import type { Runner } from "./contract.ts";
import { GuestProcess } from "./guest-process.ts";
import { guestLimits, guestProgram } from "./node-program.ts";
import type { RunnerParts } from "./quickjs-runner.ts";

/** What Node and the interpreter take, the memory image of the latter included. */
const RUNTIME_MB = 384;
const MIB = 1024 * 1024;
/** The interpreter itself, of what counts as memory of the program. */
const INTERPRETER_BYTES = 64 * MIB;
const MAX_SNAPSHOT_BYTES = 128 * MIB;

interface PythonParts extends RunnerParts {
  /** Of the package. */
  readonly pyodideFolder: string;
  /** Where the memory of a started interpreter is kept. */
  readonly snapshots: CacheFile;
}

/** The folder and version of the package; undefined where it is not installed. */
export const findPyodide = (): { readonly folder: string; readonly version: string } | undefined => {
  try {
    const folder = dirname(fileURLToPath(import.meta.resolve("pyodide")));
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
    return { folder, version };
  } catch {
    return undefined;
  }
};

/** Python in Pyodide, which is CPython compiled to WebAssembly. */
export const createPythonRunner = (parts: PythonParts): Runner => {
  const { confinement, pyodideFolder, snapshots } = parts;
  let snapshot: Promise<string | undefined> | undefined;

  /** By a process that runs no program. It takes seconds, once for each version of the interpreter. */
  const makeSnapshot = async (): Promise<string | undefined> => {
    const memoryBytes = MAX_SNAPSHOT_BYTES;
    const settings = { memoryBytes, pyodideFolder, makesSnapshot: true };
    const program = guestProgram("python-main", settings, [pyodideFolder]);
    const maker = await confinement.start(program, guestLimits(memoryBytes, RUNTIME_MB));
    const chunks: Buffer[] = [];
    let bytes = 0;
    maker.onData((chunk) => {
      bytes += chunk.length;
      if (bytes > MAX_SNAPSHOT_BYTES) void maker.kill();
      else chunks.push(chunk);
    });
    await maker.ended;
    if (bytes === 0 || bytes > MAX_SNAPSHOT_BYTES)
      throw new LlmcError("unavailable", "The interpreter did not start.", { cause: maker.errors() });
    return snapshots.keep(Buffer.concat(chunks));
  };

  return {
    name: "Python",
    languages: ["python"],
    start: async () => {
      snapshot ??= snapshots
        .find()
        .then((file) => file ?? makeSnapshot())
        .catch((thrown: unknown) => {
          snapshot = undefined;
          throw thrown;
        });
      const snapshotFile = await snapshot;
      const memoryBytes = parts.memoryBytes() + INTERPRETER_BYTES;
      const settings = { memoryBytes, pyodideFolder, snapshotFile };
      const files = [pyodideFolder, ...(snapshotFile === undefined ? [] : [snapshotFile])];
      const guest = new GuestProcess(
        await confinement.start(
          guestProgram("python-main", settings, files),
          guestLimits(memoryBytes, RUNTIME_MB),
        ),
      );
      await guest.ready;
      return guest;
    },
  };
};
