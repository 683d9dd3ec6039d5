import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pipe } from "./pipe.ts";

const MAX_MKFIFO_MS = 5000;

const openEnds = (path: string): Pipe => {
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const writeEnd = openSync(path, constants.O_WRONLY);
    return { reader: new Socket({ fd: readEnd, readable: true, writable: false }), writeEnd };
  } catch (error) {
    closeSync(readEnd);
    throw error;
  }
};

/**
 * Real pipes like `openPipe`'s, for a program that lives as long as one command: loading the library for a system call
 * would take ten times as long as mkfifo(1). Undefined where that cannot be had.
 */
export const openFifos = (count: number): readonly Pipe[] | undefined => {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), "llmc-pipes-"));
    const paths = Array.from({ length: count }, (_, i) => join(folder ?? "", String(i)));
    const how = { env: {}, stdio: "ignore", timeout: MAX_MKFIFO_MS, killSignal: "SIGKILL" } as const;
    if (spawnSync("mkfifo", ["-m", "600", ...paths], how).status !== 0) return undefined;
    return paths.map(openEnds);
  } catch {
    return undefined;
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
};
