import { join } from "node:path";
import { listenForAnother } from "../host/net/link-sockets.ts";
import { startProgram } from "../host/os/child-program.ts";
import type { Child } from "../link/child.ts";
import type { FrontChild } from "../link/front-process.ts";
import { encodeRecord, type FrontHello } from "../link/relay-records.ts";
import type { SandboxWanted } from "./sandbox-wanted.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The share of its limit of memory at which a front is replaced, before it meets it. */
export const GROWN = 0.8;

/** The numbers under which a front inherits the listener of its link, and that of its clients over HTTP. */
export const LINK_LISTENER = 3;
export const PUBLIC_LISTENER = 4;

const MIB = 1024 * 1024;
/** Of objects, for a front that reads only short messages. */
export const MIN_HEAP_MB = 64;
/** More is of no use to one that reads the lines of a client. */
const MAX_HEAP_MB = 256;
/** The share of its memory that its objects may take. */
const HEAP_SHARE = 1 / 2;
/** For up to 256 lines that are not large. */
const SMALL_LINES_MB = 48;
/** The objects that a byte of a line may come to: `{}` after `{}`, and its text again. */
const HEAP_PER_LINE_BYTE = 24;

/** Of objects, for a front that reads the lines of a client. */
const lineHeapMb = (memoryMb: number): number =>
  Math.min(MAX_HEAP_MB, Math.max(MIN_HEAP_MB, Math.floor(HEAP_SHARE * memoryMb)));

/** Bytes of large lines that a front with that memory may have at once. */
export const maxGivenBytes = (memoryMb: number): number =>
  (Math.max(0, lineHeapMb(memoryMb) - MIN_HEAP_MB - SMALL_LINES_MB) * MIB) / HEAP_PER_LINE_BYTE;

/** Of V8: what only parses stays small. */
const frontFlags = (heapMb: number): readonly string[] => [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=1",
  `--max-old-space-size=${heapMb}`,
  "--optimize-for-size",
  // Compiling and collecting garbage in threads of their own would cost memory, and the front has half a CPU.
  "--single-threaded",
];

/** The other programs lie beside this one's folder, compiled or not as it is. */
export const programFile = (name: string): string =>
  join(import.meta.dirname, "..", `${name}${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);

interface FrontStarterParts {
  readonly env: Environment;
  readonly sandbox: SandboxWanted;
  /** A private folder for sockets. */
  readonly folder: string;
  readonly memoryMb: () => number;
  /** Of objects, for fronts that are started from now on; left out, what lines of a client need. */
  readonly heapMb?: () => number;
  /** Descriptors that it may have, where it has many connections. */
  readonly descriptors?: number;
  /** A listener besides that of its link. */
  readonly publicListener?: number;
  readonly onStderr: (text: string) => void;
}

/** How fronts are started: confined, where that is wanted. */
const createProcessStarter = ({ env: all, sandbox, memoryMb, heapMb, ...parts }: FrontStarterParts) => {
  const program = programFile("front");
  const { NODE_COMPILE_CACHE: cache, MALLOC_TRIM_THRESHOLD_: trim } = all;
  const env = { ...(cache && { NODE_COMPILE_CACHE: cache }), ...(trim && { MALLOC_TRIM_THRESHOLD_: trim }) };
  const plain = (): readonly string[] => frontFlags(heapMb?.() ?? lineHeapMb(memoryMb()));
  if (sandbox === "off")
    return async (inherited: readonly number[]): Promise<Child> =>
      startProgram({ program, flags: plain(), env, cwd: "/", outputFd: 1, stderr: "inherit", inherited });
  // Node reads compiled code only where it may write it. It may not, in the end: the kernel refuses.
  const cacheFlags = cache === undefined ? [] : [`--allow-fs-write=${cache}/*`];
  return async (listeners: readonly number[]): Promise<Child> => {
    const { startFront } = await import("../host/confine/start-front.ts");
    return startFront({
      program,
      flags: [...plain(), ...cacheFlags],
      env,
      listeners,
      memoryMb: memoryMb(),
      ...(parts.descriptors !== undefined && { descriptors: parts.descriptors }),
      isRequired: sandbox === "required",
      onStderr: parts.onStderr,
    });
  };
};

/** A front inherits a listener, to which the core connects: it may make no connection itself. */
export const createFrontStarter = (parts: FrontStarterParts) => {
  const startProcess = createProcessStarter(parts);
  const { folder, publicListener } = parts;
  return async (front: number): Promise<FrontChild> => {
    const listener = await listenForAnother(join(folder, `front-${front}.sock`));
    try {
      const child = await startProcess([
        listener.descriptor,
        ...(publicListener === undefined ? [] : [publicListener]),
      ]);
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
export const compileFront = (env: Environment, hello: FrontHello = NOBODY): void => {
  const compile = (): void => {
    const warm = startProgram({
      program: programFile("front"),
      flags: frontFlags(MIN_HEAP_MB),
      env,
      cwd: "/",
      outputFd: 1,
      stderr: "inherit",
    });
    warm.output.resume();
    warm.input.on("error", () => {}).end(Buffer.concat([...encodeRecord("I", [], JSON.stringify(hello))]));
  };
  if (env["NODE_COMPILE_CACHE"] !== undefined) setTimeout(compile, WARM_MS).unref();
};
