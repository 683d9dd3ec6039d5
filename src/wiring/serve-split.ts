import { join } from "node:path";
import { toLlmcError } from "../base/error.ts";
import { listenForAnother } from "../host/net/link-sockets.ts";
import { makeSocketFolder, removeSocketFolder } from "../host/net/socket-folder.ts";
import { startProgram } from "../host/os/child-program.ts";
import { newId, newKey } from "../host/os/lazy-builtins.ts";
import { hasGrown } from "../host/os/process-bounds.ts";
import { claimStdout } from "../host/os/stdio.ts";
import type { Child } from "../link/child.ts";
import type { FrontChild } from "../link/front-process.ts";
import { encodeRecord, type FrontHello } from "../link/relay-records.ts";
import { Supervisor } from "../link/supervisor.ts";
import { BANNER } from "./banner.ts";
import type { CachedStart, FrontSettings } from "./front-settings.ts";
import type { Start } from "./request.ts";

/** Of V8, for a process that only relays, and for one that parses: both stay small. */
const FRONT_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=1",
  "--max-old-space-size=64",
  "--optimize-for-size",
  // Compiling and collecting garbage in threads of their own would cost memory, and the front has half a CPU.
  "--single-threaded",
];
/** What is parsed elsewhere need not be collected here: a young generation of twice this saves no time, and takes 35 MB more. */
const CORE_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--min-semi-space-size=4",
  "--max-semi-space-size=8",
];

/** The number under which a front inherits the listener of its link. */
const FRONT_LISTENER = 3;

/** A front is replaced before it meets its limit of memory, and when it seems to leak descriptors. */
const GROWN = 0.8;
const MAX_DESCRIPTORS = 512;

/** The other programs lie beside this one's folder, compiled or not as it is. */
const programFile = (name: string): string =>
  join(import.meta.dirname, "..", `${name}${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);

/** How fronts are started: confined, where that is wanted. */
const createProcessStarter = (start: Start, settings: FrontSettings, memoryMb: () => number) => {
  const program = programFile("front");
  const { NODE_COMPILE_CACHE: cache, MALLOC_TRIM_THRESHOLD_: trim } = start.env;
  const env = { ...(cache && { NODE_COMPILE_CACHE: cache }), ...(trim && { MALLOC_TRIM_THRESHOLD_: trim }) };
  if (settings.sandbox === "off")
    return async (inherited: number): Promise<Child> =>
      startProgram({ program, flags: FRONT_FLAGS, env, cwd: "/", outputFd: 1, stderr: "inherit", inherited });
  // Node reads compiled code only where it may write it. It may not, in the end: the kernel refuses.
  const flags = cache === undefined ? FRONT_FLAGS : [...FRONT_FLAGS, `--allow-fs-write=${cache}/*`];
  return async (listener: number): Promise<Child> => {
    const { startFront } = await import("../host/confine/start-front.ts");
    return startFront({
      program,
      flags,
      env,
      listener,
      memoryMb: memoryMb(),
      isRequired: settings.sandbox === "required",
      onStderr: (text) => start.stderr.write(text),
    });
  };
};

/** A front inherits a listener, to which the core connects: it may make no connection itself. */
const createFrontStarter = (
  start: Start,
  settings: FrontSettings,
  folder: string,
  memoryMb: () => number,
) => {
  const startProcess = createProcessStarter(start, settings, memoryMb);
  return async (front: number): Promise<FrontChild> => {
    const listener = await listenForAnother(join(folder, `front-${front}.sock`));
    try {
      const child = await startProcess(listener.descriptor);
      void child.exited.then(listener.remove);
      return { ...child, socketPath: listener.path };
    } catch (thrown) {
      listener.remove();
      throw thrown;
    } finally {
      listener.release();
    }
  };
};

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
      listener: FRONT_LISTENER,
      token,
      stateKey: Buffer.from(newKey()).toString("base64"),
    },
    coreHello: { argv, folder, token, cachePath, isTerminal: process.stdin.isTTY },
    cached:
      snapshot === undefined
        ? undefined
        : { snapshot: Buffer.from(JSON.stringify(snapshot)), maxFrameBytes: snapshot.maxFrameBytes },
    hasGrown: (pid) => hasGrown(pid, { maxResidentMb: memory.mb * GROWN, maxDescriptors: MAX_DESCRIPTORS }),
    memoryMb: memory.mb,
    onMemory: (mb) => {
      memory.mb = mb;
    },
    log: (text) => start.stderr.write(`llmc: ${text}\n`),
  });
};

/** When the client has its first answers, in milliseconds. */
const WARM_MS = 3000;

/** A second front loads everything at once. */
const NOBODY: FrontHello = {
  front: 2,
  session: "",
  listener: null,
  token: "",
  stateKey: "",
  seen: "",
};

/**
 * Has the front's code compiled for the next start: a front of its own, unconfined and without a client, that loads
 * everything and ends. Confined ones cannot write. A start without that takes twice as long (`npm run bench -- front`).
 */
const compileFront = ({ env }: Start): void => {
  const compile = (): void => {
    const warm = startProgram({
      program: programFile("front"),
      flags: FRONT_FLAGS,
      env,
      cwd: "/",
      outputFd: 1,
      stderr: "inherit",
    });
    warm.output.resume();
    warm.input.on("error", () => {}).end(Buffer.concat([...encodeRecord("I", [], JSON.stringify(NOBODY))]));
  };
  if (env["NODE_COMPILE_CACHE"] !== undefined) setTimeout(compile, WARM_MS).unref();
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
    const startFront = createFrontStarter(start, settings, folder, () => memory.mb);
    let firstFront: FrontChild;
    try {
      firstFront = await startFront(1);
    } catch (thrown) {
      if (settings.sandbox === "required") throw thrown;
      const { message, hint = "" } = toLlmcError(thrown);
      start.stderr.write(`llmc: everything runs in one process, without a sandbox: ${message} ${hint}\n`);
      return undefined;
    }
    if (settings.sandbox === "off")
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
    if (settings.sandbox !== "off") compileFront(start);
    return await supervisor.done;
  } finally {
    removeSocketFolder(folder);
  }
};
