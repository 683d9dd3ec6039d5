import { toLlmcError } from "../base/error.ts";
import { makeSocketFolder, removeSocketFolder } from "../host/net/socket-folder.ts";
import { startProgram } from "../host/os/child-program.ts";
import { newId, newKey } from "../host/os/lazy-builtins.ts";
import { claimStdout } from "../host/os/stdio.ts";
import type { FrontChild } from "../link/front-process.ts";
import { Supervisor } from "../link/supervisor.ts";
import { BANNER } from "./banner.ts";
import {
  compileFront,
  createFrontStarter,
  GROWN,
  LINK_LISTENER,
  maxGivenBytes,
  programFile,
} from "./front-programs.ts";
import type { CachedStart, FrontSettings } from "./front-settings.ts";
import type { Start } from "./request.ts";

/** What is parsed elsewhere need not be collected here: a young generation of twice this saves no time, and takes 35 MB more. */
const CORE_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--min-semi-space-size=4",
  "--max-semi-space-size=8",
];

/** Of a front; with more it seems to leak them. */
const MAX_DESCRIPTORS = 512;

const MIB = 1024 * 1024;

export interface SplitRequest {
  readonly start: Start;
  readonly argv: readonly string[];
  readonly settings: FrontSettings;
  readonly cached: CachedStart | undefined;
  readonly cachePath: string;
}

interface Prepared extends SplitRequest {
  readonly folder: string;
  readonly firstFront: FrontChild;
  readonly startFront: (front: number) => Promise<FrontChild>;
  readonly memory: { mb: number };
}

const createSupervisor = (prepared: Prepared): Supervisor => {
  const { start, argv, cached, cachePath, folder, firstFront, startFront, memory } = prepared;
  const { LLMC_PROTOCOL_FD: fd, ...env } = start.env;
  const token = Buffer.from(newKey()).toString("base64url");
  const snapshot = cached?.snapshot;
  return new Supervisor({
    ...claimStdout(fd === undefined ? undefined : Number(fd)),
    startFront: (front) => (front === 1 ? Promise.resolve(firstFront) : startFront(front)),
    startCore: () =>
      startProgram({
        program: programFile("serve-core"),
        flags: CORE_FLAGS,
        env,
        cwd: start.cwd,
        outputFd: 3,
        stderr: "inherit",
      }),
    hello: {
      session: newId(),
      listener: LINK_LISTENER,
      token,
      stateKey: Buffer.from(newKey()).toString("base64"),
    },
    coreHello: { argv, folder, token, cachePath, isTerminal: process.stdin.isTTY },
    cached:
      snapshot === undefined
        ? undefined
        : { snapshot: Buffer.from(JSON.stringify(snapshot)), maxFrameBytes: snapshot.maxFrameBytes },
    maxSize: () => ({ residentBytes: GROWN * memory.mb * MIB, descriptors: MAX_DESCRIPTORS }),
    memoryMb: memory.mb,
    maxGivenBytes: () => maxGivenBytes(memory.mb),
    onMemory: (mb) => {
      memory.mb = mb;
    },
    log: (text) => start.stderr.write(`llmc: ${text}\n`),
  });
};

/**
 * Serves a client over stdio with a front and a core of their own, until it leaves or the server is told to stop. Undefined
 * if the front cannot be confined and need not be.
 */
export const serveSplit = async (request: SplitRequest): Promise<number | undefined> => {
  const { start, settings } = request;
  const folder = makeSocketFolder(start.env["XDG_RUNTIME_DIR"]);
  try {
    const memory = { mb: settings.maxMemoryMb };
    const { sandbox } = settings;
    const startFront = createFrontStarter({
      env: start.env,
      sandbox,
      folder,
      memoryMb: () => memory.mb,
      onStderr: (text) => start.stderr.write(text),
    });
    let firstFront: FrontChild;
    try {
      firstFront = await startFront(1);
    } catch (thrown) {
      if (sandbox === "required") throw thrown;
      const { message, hint = "" } = toLlmcError(thrown);
      start.stderr.write(`llmc: everything runs in one process, without a sandbox: ${message} ${hint}\n`);
      return undefined;
    }
    if (sandbox === "off")
      start.stderr.write("llmc: mcp.sandbox_enabled is false: what parses input is not sandboxed\n");
    if (process.stdin.isTTY) start.stderr.write(BANNER);
    const supervisor = createSupervisor({ ...request, folder, firstFront, startFront, memory });
    start.signals.onStop(() => supervisor.stop());
    start.signals.onReload(() => {
      supervisor.reload();
      // By what is installed now; if that is not well, the one that is there stays.
      supervisor.replaceFront();
    });
    supervisor.start();
    if (sandbox !== "off") compileFront(start.env);
    return await supervisor.done;
  } finally {
    removeSocketFolder(folder);
  }
};
