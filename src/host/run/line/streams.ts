import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { pipeline } from "node:stream";
import { LlmcError } from "../../../base/error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { refuseConstruct } from "../../../policy/shell/refusals.ts";
import type { Redirection } from "../../../policy/shell/shell-line.ts";
import type { Access } from "../../reach/access.ts";
import type { FileWrites } from "../../write/contract.ts";
import { openPipeEnds } from "../tree/pipe.ts";
import type { Sink, TreeStreams } from "../tree/run-tree.ts";
import { openNameless } from "../tree/spool.ts";
import type { Expansion } from "./contract.ts";
import { physicalPath } from "./physical-path.ts";
import { fileNameOf, type ShellState, textOf } from "./shell-state.ts";

/** What a redirection may fill; it is held in memory when it is written. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const NEW_FILE_MODE = 0o644;
const NULL_DEVICE = "/dev/null";

export interface FilePorts {
  readonly access: Access;
  readonly writes: Pick<FileWrites, "applyAll" | "append">;
}

/** Descriptors of one pipeline. Whoever takes one closes it; the rest is closed with the pipeline. */
export class Descriptors {
  readonly #open = new Set<number>();

  add(descriptor: number): number {
    this.#open.add(descriptor);
    return descriptor;
  }

  /** A number that is no longer ours may by now mean somebody else's file. */
  take(descriptor: number): number {
    if (!this.#open.delete(descriptor)) throw new Error("a descriptor was taken twice, or after its end");
    return descriptor;
  }

  /** A pipe ends for its reader when its last writer is gone: unused ends must not stay open. */
  closeExcept(used: ReadonlySet<number | string>): void {
    for (const descriptor of this.#open) if (!used.has(descriptor)) closeSync(this.take(descriptor));
  }
}

/** Output that waits in a file without a name until the program has ended. */
export interface PendingFile {
  readonly path: string;
  readonly realPath: string;
  readonly isAppended: boolean;
  readonly descriptor: number;
}

const targetOf = async (
  redirection: Extract<Redirection, { kind: "file" }>,
  state: ShellState,
  expansion: Expansion,
): Promise<string> => {
  const text = fileNameOf(redirection.target, state, expansion);
  if (text === undefined || text === "")
    throw new LlmcError("invalid_args", "A redirection needs the name of one file.", {
      hint: "Put quotes around a name with special characters.",
      details: { field: "command" },
    });
  return text === NULL_DEVICE ? text : physicalPath(expansion.access, state.cwd, text, expansion.signal);
};

const change = (path: string, bytes: Buffer) =>
  ({ kind: "put", path, bytes, mode: NEW_FILE_MODE, overwrite: true, inExisting: true }) as const;

/** The real path of the file that would be written. */
const checkWritable = async (
  { writes }: FilePorts,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const [planned] = await writes.applyAll([change(path, Buffer.alloc(0))], { dryRun: true }, signal);
  return planned?.path ?? path;
};

/** An earlier part of the line may make it. */
const orMadeBefore = (thrown: unknown): void => {
  if (!(thrown instanceof LlmcError && thrown.code === "file_not_found")) throw thrown;
};

/** Each would write over the other's output, in an order that nobody can tell. */
export const refuseSharedFiles = (files: readonly PendingFile[]): void => {
  const paths = files.map(({ realPath }) => realPath);
  const twice = files.find(({ realPath }, at) => paths.indexOf(realPath) < at);
  if (twice !== undefined)
    throw refuseConstruct(
      "writing to one file by two redirections",
      `> ${twice.path}`,
      "Send both streams of a program to it with > FILE 2>&1.",
    );
};

const openForReading = (
  { access }: FilePorts,
  path: string,
  signal: AbortSignal | undefined,
): Promise<number> =>
  access(path, signal, async (located) => {
    if (located.stats.isDirectory())
      throw new LlmcError("is_directory", `${quoteForMessage(path)} is a directory.`, {
        details: { field: "command" },
      });
    // The same file, judged and held, by a descriptor of its own.
    return openSync(`/dev/fd/${await located.openContent()}`, constants.O_RDONLY);
  });

/**
 * The content through a pipe. A program must not get a descriptor of the file itself: through `/proc/self/fd` it could
 * open it again for writing, past every mount of its sandbox.
 */
export const feed = (file: number, descriptors: Descriptors): number => {
  const [readEnd, writeEnd] = openPipeEnds();
  const writer = new Socket({ fd: writeEnd, readable: false, writable: true });
  // A program may end without having read everything.
  pipeline(createReadStream("", { fd: file }), writer, () => {});
  return descriptors.add(readEnd);
};

/** The same pipe, device or file by a descriptor of its own, for one command of a group. */
export const openAgain = <Other extends string>(
  descriptor: number | Other,
  access: "read" | "append",
  descriptors: Descriptors,
): number | Other => {
  if (typeof descriptor !== "number") return descriptor;
  const flags = access === "read" ? constants.O_RDONLY : constants.O_WRONLY | constants.O_APPEND;
  return descriptors.add(openSync(`/dev/fd/${descriptor}`, flags));
};

/** A file without a name from whose beginning a program reads. */
const openText = (text: string): number => {
  const descriptor = openNameless();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at, at);
  return descriptor;
};

/** Whether every file that a command would read or write may be: without opening anything that outlives this. */
export const checkRedirections = async (
  redirections: readonly Redirection[],
  state: ShellState,
  ports: FilePorts & Expansion,
): Promise<void> => {
  const { signal } = ports;
  for (const redirection of redirections) {
    if (redirection.kind === "input") textOf(redirection.content, state, ports);
    if (redirection.kind !== "file") continue;
    const path = await targetOf(redirection, state, ports);
    if (path === NULL_DEVICE) continue;
    if (redirection.access !== "read") await checkWritable(ports, path, signal).catch(orMadeBefore);
    else await openForReading(ports, path, signal).then(closeSync, orMadeBefore);
  }
};

interface OpenStreams {
  readonly streams: TreeStreams;
  readonly files: readonly PendingFile[];
}

/** Applies redirections from left to right, as a shell does: `> f 2>&1` sends both to the file. */
export const openRedirections = async (
  redirections: readonly Redirection[],
  first: TreeStreams,
  state: ShellState,
  descriptors: Descriptors,
  ports: FilePorts & Expansion,
): Promise<OpenStreams> => {
  const { signal } = ports;
  const streams = { ...first };
  const files: PendingFile[] = [];
  const put = (fd: number, sink: Sink): void => {
    if (fd === 1) streams.output = sink;
    else streams.errors = sink;
  };
  for (const redirection of redirections) {
    if (redirection.kind === "input") {
      streams.input = descriptors.add(openText(textOf(redirection.content, state, ports)));
      continue;
    }
    const { fd } = redirection;
    if (redirection.kind === "copy") {
      if (fd === 0 || redirection.of === 0)
        throw new LlmcError("invalid_args", "Only 1 and 2 can be sent to each other.", {
          hint: "Use 2>&1 or >&2.",
          details: { field: "command" },
        });
      put(fd, redirection.of === 1 ? streams.output : streams.errors);
      continue;
    }
    const path = await targetOf(redirection, state, ports);
    if (path === NULL_DEVICE) {
      const descriptor = descriptors.add(openSync(NULL_DEVICE, constants.O_RDWR));
      if (fd === 0) streams.input = descriptor;
      else put(fd, descriptor);
    } else if (redirection.access === "read") {
      streams.input = feed(await openForReading(ports, path, signal), descriptors);
    } else {
      const realPath = await checkWritable(ports, path, signal);
      const descriptor = descriptors.add(openNameless());
      files.push({
        path,
        realPath,
        isAppended: redirection.access === "append",
        // The program takes the first; this one reads what it wrote.
        descriptor: descriptors.add(openSync(`/dev/fd/${descriptor}`, constants.O_RDONLY)),
      });
      put(fd, descriptor);
    }
  }
  return { streams, files };
};

const readWhole = (descriptor: number, path: string): Buffer => {
  const { size } = fstatSync(descriptor);
  if (size > MAX_FILE_BYTES)
    throw new LlmcError(
      "file_too_large",
      `The output for ${quoteForMessage(path)} is larger than 64 MB and was not written.`,
      {
        hint: "Let the program write the file itself, or narrow what it prints.",
      },
    );
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (let got = -1; at < size && got !== 0; at += got) got = readSync(descriptor, bytes, at, size - at, at);
  return bytes.subarray(0, at);
};

/** Writes what programs left for files, as the caller would with the file tools. */
export const writePending = async (
  files: readonly PendingFile[],
  { writes }: FilePorts,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const { path, isAppended, descriptor } of files) {
    const bytes = readWhole(descriptor, path);
    if (!isAppended) await writes.applyAll([change(path, bytes)], { dryRun: false }, signal);
    else await writes.append(path, bytes, {}, signal);
  }
};

type Deliver = (stream: "stdout" | "stderr", chunk: Buffer) => void;

const writeInto = (descriptor: number, text: string, descriptors: Descriptors): void => {
  const bytes = Buffer.from(text);
  const stats = fstatSync(descriptor);
  // The only device that a line can name is the null device.
  if (stats.isCharacterDevice()) return;
  if (stats.isFile()) {
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
    return;
  }
  // A pipe may be full, and its reader may not want it; it ends for its reader when it is closed here.
  const writer = new Socket({ fd: descriptors.take(descriptor), readable: false, writable: true });
  writer.on("error", () => {});
  writer.end(bytes);
};

/** What a built-in command says, to wherever its output goes; both streams may go to the same descriptor. */
export const deliver = (
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
  { output, errors }: Pick<TreeStreams, "output" | "errors">,
  descriptors: Descriptors,
  onOutput: Deliver | undefined,
): void => {
  const texts = new Map<Sink, string>([[output, stdout]]);
  texts.set(errors, `${texts.get(errors) ?? ""}${stderr}`);
  for (const [sink, text] of texts)
    if (typeof sink === "number") writeInto(sink, text, descriptors);
    else if (text !== "") onOutput?.(sink, Buffer.from(text));
};
