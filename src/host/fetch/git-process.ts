import type { CommandStarter } from "../run/runner.ts";
import { openInputPipe, openPipe } from "../run/tree/pipe.ts";
import { collect } from "../run/tree/process-tree.ts";

const MAX_ERROR_BYTES = 4096;
const MEMORY_BYTES = 1024 ** 3;
/** Of a repository that is cloned: all objects of a commit lie in one file. */
const MAX_PACK_BYTES = 1024 ** 3;

/** A git that reads one repository and can do nothing else. */
export interface GitProcess {
  write(text: string): void;
  onData(listener: (chunk: Buffer) => void): void;
  /** Its exit code, when it is gone. */
  readonly ended: Promise<number | null>;
  kill(): Promise<void>;
}

/** What a git may do; by default, to read. */
export interface GitPowers {
  readonly args: readonly string[];
  /** The git directory that it works on; it may be hostile. */
  readonly gitDir?: string | undefined;
  /** The one folder that it may write to, with the network and programs of its own: to clone into. */
  readonly cloneInto?: string | undefined;
  readonly settings?: readonly (readonly [string, string])[] | undefined;
}

/**
 * Starts git with no more than it needs. On a repository, it writes nothing, reaches no network and no other files, and
 * starts no programs, so that neither hooks nor filters nor transports of its configuration run. None of the user's
 * settings and credentials apply.
 */
export const startGit = async (
  runner: CommandStarter,
  program: string,
  { args, gitDir, cloneInto, settings = [] }: GitPowers,
): Promise<GitProcess> => {
  const [input, output, errors] = [openInputPipe(), openPipe(), openPipe()];
  const sockets = [input.writer, output.reader, errors.reader];
  // A process that has ended is reported as such.
  for (const socket of sockets) socket.on("error", () => undefined);
  collect(errors.reader, MAX_ERROR_BYTES);
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const request = {
    argv: [program, ...args] as const,
    cwd: "/",
    timeoutMs: 0,
    git: {
      ceilings: [],
      settings: [["safe.directory", "*"], ...settings] as const,
      protocols: cloneInto === undefined ? "" : "http:https",
      repository: gitDir === undefined ? undefined : { gitDir, top: undefined },
    },
  };
  const profile = {
    writable: cloneInto === undefined ? [] : [cloneInto],
    readableRoots: gitDir === undefined ? [] : [gitDir],
    protectedInside: [],
    hidden: [],
    network: cloneInto !== undefined,
    noFork: cloneInto === undefined,
    limits: {
      memoryBytes: MEMORY_BYTES,
      processes: 16,
      fileBytes: cloneInto === undefined ? 0 : MAX_PACK_BYTES,
    },
  };
  const started = await runner
    .start({ request, profile }, () => [input.readEnd, output.writeEnd, errors.writeEnd])
    .catch((thrown: unknown) => {
      close();
      throw thrown;
    });
  const read = new Promise<void>((resolve) => {
    output.reader.once("close", () => resolve());
  });
  const end = async (): Promise<number | null> => {
    await started.tree.exited;
    await read;
    await started.tree.sweep();
    await started.finish();
    close();
    return started.tree.child.exitCode;
  };
  return {
    write: (text) => void input.writer.write(text),
    onData: (listener) => void output.reader.on("data", listener),
    ended: end(),
    kill: async () => {
      await started.tree.end(0);
      output.reader.destroy();
    },
  };
};
