import { join } from "node:path";
import { toLlmcError } from "../base/error.ts";
import { makeSocketFolder, removeSocketFolder } from "../host/net/socket-folder.ts";
import { startProgram } from "../host/os/child-program.ts";
import { newId, newKey } from "../host/os/lazy-builtins.ts";
import { descriptorLimit, hasGrown } from "../host/os/process-bounds.ts";
import { claimStdout } from "../host/os/stdio.ts";
import type { Child } from "../link/child.ts";
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
];
const CORE_FLAGS = ["--disable-warning=ExperimentalWarning", "--min-semi-space-size=4"];

/**
 * Requests to the core at once: somewhat more than it works on by default, so that its own queue decides, but no more than
 * a quarter of its descriptors.
 */
const MAX_REQUESTS = 128;
const MIN_REQUESTS = 4;
/** A front is replaced before it meets its limit of memory, and when it seems to leak descriptors. */
const GROWN = 0.8;
const MAX_DESCRIPTORS = 512;

/** The other programs lie beside this one's folder, compiled or not as it is. */
const programFile = (name: string): string =>
  join(import.meta.dirname, "..", `${name}${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);

/** How fronts are started: confined, where that is wanted. */
const createFrontStarter = (start: Start, settings: FrontSettings, folder: string) => {
  const program = programFile("front");
  const { NODE_COMPILE_CACHE: cache, MALLOC_TRIM_THRESHOLD_: trim } = start.env;
  const env = { ...(cache && { NODE_COMPILE_CACHE: cache }), ...(trim && { MALLOC_TRIM_THRESHOLD_: trim }) };
  if (settings.sandbox === "off")
    return async (): Promise<Child> =>
      startProgram({ program, flags: FRONT_FLAGS, env, cwd: "/", outputFd: 1, stderr: "inherit" });
  // Node reads compiled code only where it may write it. It may not, in the end: the kernel refuses.
  const flags = cache === undefined ? FRONT_FLAGS : [...FRONT_FLAGS, `--allow-fs-write=${cache}/*`];
  return async (): Promise<Child> => {
    const { startFront } = await import("../host/confine/start-front.ts");
    return startFront({
      program,
      flags,
      env,
      sockets: folder,
      memoryMb: settings.maxMemoryMb,
      isRequired: settings.sandbox === "required",
      onStderr: (text) => start.stderr.write(text),
    });
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
  readonly firstFront: Child;
  readonly startFront: () => Promise<Child>;
}

const createSupervisor = (prepared: Prepared): Supervisor => {
  const { start, argv, settings, cached, cachePath, folder, firstFront, startFront } = prepared;
  const { LLMC_PROTOCOL_FD: fd, ...env } = start.env;
  const socketPath = join(folder, "link.sock");
  const token = Buffer.from(newKey()).toString("base64url");
  const snapshot = cached?.snapshot;
  const maxRequests = Math.max(MIN_REQUESTS, Math.min(MAX_REQUESTS, Math.floor(descriptorLimit() / 4)));
  return new Supervisor({
    ...claimStdout(fd === undefined ? undefined : Number(fd)),
    startFront: (front) => (front === 1 ? Promise.resolve(firstFront) : startFront()),
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
      socketPath,
      token,
      poolSize: settings.poolSize,
      maxRequests,
      stateKey: Buffer.from(newKey()).toString("base64"),
    },
    coreHello: { argv, folder, socketPath, token, cachePath },
    cached:
      snapshot === undefined
        ? undefined
        : { snapshot: Buffer.from(JSON.stringify(snapshot)), maxFrameBytes: snapshot.maxFrameBytes },
    hasGrown: (pid) =>
      hasGrown(pid, { maxResidentMb: settings.maxMemoryMb * GROWN, maxDescriptors: MAX_DESCRIPTORS }),
    log: (text) => start.stderr.write(`llmc: ${text}\n`),
  });
};

/** When the client has its first answers, in milliseconds. */
const WARM_MS = 3000;

/**
 * Has the front's code compiled for the next start: a front of its own, unconfined and without a client, that loads
 * everything and ends. Confined ones cannot write.
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
    warm.input.on("error", () => {}).end();
  };
  if (env["NODE_COMPILE_CACHE"] !== undefined) setTimeout(compile, WARM_MS).unref();
};

/**
 * Serves a client over stdio with a front and a core of their own, until it leaves or the server is told to stop. Undefined
 * if the front cannot be confined and need not be.
 */
export const serveSplit = async (request: SplitRequest): Promise<number | undefined> => {
  const { start, settings, cached } = request;
  const folder = makeSocketFolder(start.env["XDG_RUNTIME_DIR"]);
  try {
    const startFront = createFrontStarter(start, settings, folder);
    let firstFront: Child;
    try {
      firstFront = await startFront();
    } catch (thrown) {
      if (settings.sandbox === "required") throw thrown;
      const { message, hint = "" } = toLlmcError(thrown);
      start.stderr.write(`llmc: everything runs in one process, without a sandbox: ${message} ${hint}\n`);
      return undefined;
    }
    if (process.stdin.isTTY) start.stderr.write(BANNER);
    const supervisor = createSupervisor({ ...request, folder, firstFront, startFront });
    start.signals.onStop(() => supervisor.stop());
    start.signals.onReload(() => supervisor.reload());
    supervisor.start();
    if (cached === undefined && settings.sandbox !== "off") compileFront(start);
    return await supervisor.done;
  } finally {
    removeSocketFolder(folder);
  }
};
