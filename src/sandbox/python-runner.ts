import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LlmcError } from "../base/error.ts";
import type { CacheFile } from "../host/own-files/cache-file.ts";
import type { Guest, OnWait, Runner } from "./contract.ts";
import type { GuestSettings } from "./guest/messages.ts";
import { PYODIDE_PRELUDE, PYTHON_PRELOAD } from "./guest/python-prelude.ts";
import { GuestProcess } from "./guest-process.ts";
import type { RunnerParts } from "./quickjs-runner.ts";
import { type GuestProgram, guestFile } from "./start-guest.ts";

/** What Node and the interpreter take, the memory image of the latter included. */
const RUNTIME_MB = 384;
const MIB = 1024 * 1024;
/** The interpreter itself, of what counts as memory of the program. */
const INTERPRETER_BYTES = 64 * MIB;
const MAX_SNAPSHOT_BYTES = 128 * MIB;
/** How `python-main` writes and reads it. */
const SNAPSHOT_FORMAT = 2;

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

/** Everything that a snapshot depends on. */
export const snapshotVersion = (pyodideVersion: string): string => {
  const prelude = createHash("sha256").update(PYTHON_PRELOAD).update(PYODIDE_PRELUDE).digest("hex");
  return `${pyodideVersion}-${prelude.slice(0, 12)}-${SNAPSHOT_FORMAT}`;
};

/** Python in Pyodide, which is CPython compiled to WebAssembly. */
export const createPythonRunner = (parts: PythonParts): Runner => {
  const { startGuest, snapshots } = parts;
  // Inside, files have their real names only.
  const pyodideFolder = realpathSync.native(parts.pyodideFolder);
  /** Shared by all who start meanwhile. */
  let making: Promise<string | undefined> | undefined;
  let canKeep = true;

  const programWith = (settings: GuestSettings): GuestProgram => ({
    program: guestFile("python-main"),
    settings: { ...settings, pyodideFolder },
    files: [pyodideFolder, ...(settings.snapshotFile === undefined ? [] : [settings.snapshotFile])],
    runtimeMb: RUNTIME_MB,
  });

  /** By a process that runs no program. It takes seconds, once for each version of the interpreter. */
  const makeSnapshot = async (onWait?: OnWait): Promise<string | undefined> => {
    onWait?.("making the memory snapshot of Python, once on this machine: some seconds");
    const maker = await startGuest(programWith({ memoryBytes: MAX_SNAPSHOT_BYTES, makesSnapshot: true }));
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

  const renewSnapshot = async (onWait?: OnWait): Promise<string | undefined> => {
    making ??= makeSnapshot(onWait).finally(() => {
      making = undefined;
    });
    const kept = await making;
    canKeep = kept !== undefined;
    return kept;
  };

  const startWith = async (snapshot: string | undefined): Promise<Guest> => {
    const snapshotFile = snapshot === undefined ? undefined : realpathSync.native(snapshot);
    const memoryBytes = parts.memoryBytes() + INTERPRETER_BYTES;
    const guest = new GuestProcess(await startGuest(programWith({ memoryBytes, snapshotFile })));
    await guest.ready;
    return guest;
  };

  return {
    name: "Python",
    languages: ["python"],
    start: async (onWait) => {
      const found = making === undefined ? await snapshots.find() : undefined;
      // It may be damaged, or gone by now.
      const guest = found === undefined ? undefined : await startWith(found).catch(() => undefined);
      return guest ?? startWith(canKeep ? await renewSnapshot(onWait) : undefined);
    },
  };
};
