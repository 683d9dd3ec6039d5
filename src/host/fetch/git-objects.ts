import { LlmcError } from "../../base/error.ts";
import type { GitProcess } from "./git-process.ts";

export type GitObject =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "large" | "gone" };

/** `OID blob SIZE`, or `OID missing`. */
const HEADER = /^[0-9a-f]{40,64} (?:blob (\d{1,15})|\w+)$/;
const MAX_HEADER_BYTES = 512;
const NEWLINE = 0x0a;

const broken = (): LlmcError =>
  new LlmcError("invalid_args", "The repository is damaged and cannot be read.");

/** What git answers to one request: a line, and as many bytes as it says, of which too many are passed over. */
const createAnswer = (maxBytes: number) => {
  let header = Buffer.alloc(0);
  let sizeBytes: number | undefined;
  let seenBytes = 0;
  const parts: Buffer[] = [];
  const takeHeader = (chunk: Buffer): Buffer | GitObject => {
    const all = Buffer.concat([header, chunk]);
    const end = all.indexOf(NEWLINE);
    if (end < 0 || end > MAX_HEADER_BYTES) {
      if (all.length > MAX_HEADER_BYTES) throw broken();
      header = all;
      return Buffer.alloc(0);
    }
    const found = HEADER.exec(all.toString("latin1", 0, end));
    if (found === null) throw broken();
    if (found[1] === undefined) return { kind: "gone" };
    sizeBytes = Number(found[1]);
    return all.subarray(end + 1);
  };
  /** The object, when its last byte is there; git ends it with a newline. */
  return (chunk: Buffer): GitObject | undefined => {
    const rest = sizeBytes === undefined ? takeHeader(chunk) : chunk;
    if (!Buffer.isBuffer(rest)) return rest;
    if (sizeBytes === undefined) return undefined;
    seenBytes += rest.length;
    if (sizeBytes <= maxBytes) parts.push(rest);
    if (seenBytes < sizeBytes + 1) return undefined;
    if (seenBytes > sizeBytes + 1) throw broken();
    if (sizeBytes > maxBytes) return { kind: "large" };
    return { kind: "bytes", bytes: Buffer.concat(parts).subarray(0, sizeBytes) };
  };
};

/** One git, which answers one request after the other. */
const createReader = (git: GitProcess) => {
  let take: ((chunk: Buffer) => void) | undefined;
  let fail: ((error: LlmcError) => void) | undefined;
  let isOver = false;
  git.onData((chunk) => take?.(chunk));
  void git.ended.then(() => {
    isOver = true;
    fail?.(broken());
  });
  return {
    read: (id: string, maxBytes: number): Promise<GitObject> => {
      if (isOver) return Promise.reject(broken());
      const { promise, resolve, reject } = Promise.withResolvers<GitObject>();
      const answer = createAnswer(maxBytes);
      fail = reject;
      take = (chunk) => {
        try {
          const found = answer(chunk);
          if (found !== undefined) resolve(found);
        } catch (thrown) {
          reject(thrown);
          void git.kill();
        }
      };
      git.write(`${id}\n`);
      return promise;
    },
    kill: git.kill,
  };
};

/** The answer, unless the signal fires before it is there: then whoever would give it is ended. */
const unlessAborted = async <T>(
  answer: Promise<T>,
  signal: AbortSignal | undefined,
  end: () => void,
): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => {
    aborted.reject(signal?.reason);
    end();
  };
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    // A signal that fires later must not end the git that answers somebody else by then.
    signal?.removeEventListener("abort", stop);
  }
};

/**
 * Objects of one repository by their ids, one after the other. Its author decides how long git takes for one of them (chains
 * of deltas), so a signal ends git, and the next object gets another one.
 */
export const createGitObjects = (start: () => Promise<GitProcess>) => {
  let turn: Promise<unknown> = Promise.resolve();
  let reader: ReturnType<typeof createReader> | undefined;
  const close = async (): Promise<void> => {
    const last = reader;
    reader = undefined;
    await last?.kill();
  };
  const readNow = async (id: string, maxBytes: number, signal: AbortSignal | undefined) => {
    signal?.throwIfAborted();
    reader ??= createReader(await start());
    signal?.throwIfAborted();
    return unlessAborted(reader.read(id, maxBytes), signal, () => void close());
  };
  return {
    read: (id: string, maxBytes: number, signal?: AbortSignal): Promise<GitObject> => {
      const next = turn.then(() => readNow(id, maxBytes, signal));
      turn = next.catch(() => undefined);
      return next;
    },
    close,
  };
};
