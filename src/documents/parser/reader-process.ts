import { extname, join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { codeOf } from "../../host/confine/code-of.ts";
import { type Confined, type ConfinementTier, KERNEL_TIERS } from "../../host/confine/contract.ts";
import { startConfined } from "../../host/confine/start-confined.ts";
import { bundledProgram } from "../../host/os/bundled-files.ts";
import type { DocumentInput, ParsedDocument } from "../contract.ts";
import { createFrameReader, encodeFrame } from "../reader/frames.ts";
import { READY, type ReadRequest } from "../reader/messages.ts";
import type { ReadLimits } from "../text/limits.ts";
import { checkAnswer } from "./check-answer.ts";

export interface ReaderSettings {
  /** Of the process, the parsers included. */
  readonly memoryMb: number;
  /** For one document. */
  readonly timeoutMs: number;
  readonly limits: ReadLimits;
  /** Instead of the tiers of this system: for tests. */
  readonly tiers?: readonly ConfinementTier[] | undefined;
}

/** One confined process, which reads one document after the other. */
export interface Reader {
  read(input: DocumentInput, signal: AbortSignal | undefined): Promise<ParsedDocument>;
  isAlive(): boolean;
  /** Ends it, and resolves when it is gone. */
  end(): Promise<void>;
}

/** Escapes of JSON, and what surrounds the texts of sections. */
const BYTES_PER_CHAR = 6;
const BYTES_PER_SECTION = 512;
const SLACK_BYTES = 1024 * 1024;

const maxAnswerBytes = ({ maxChars, maxSections }: ReadLimits): number =>
  maxChars * BYTES_PER_CHAR + maxSections * BYTES_PER_SECTION + SLACK_BYTES;

/** Share of the memory for V8's heap, so that V8 itself ends the process of a document that needs too much. */
const HEAP_SHARE = 0.7;

const unconfinable = (cause: unknown): LlmcError =>
  new LlmcError(
    "unavailable",
    "Documents are read in a confined process only, and none can be confined here.",
    {
      hint: cause instanceof LlmcError ? (cause.hint ?? "") : "See llmc doctor --sandbox.",
      cause,
    },
  );

/** All of its code, since parsers share the table of formats with the rest. */
const ROOM = join(import.meta.dirname, "..");

const programOf = (): { readonly program: string; readonly code: readonly string[] } => {
  const bundled = bundledProgram("documents/reader.mjs");
  if (bundled !== undefined) return { program: bundled, code: [join(bundled, "..")] };
  const program = join(ROOM, "reader", `main${extname(import.meta.filename)}`);
  return { program, code: codeOf(ROOM) };
};

const launch = async (settings: ReaderSettings): Promise<Confined> => {
  const { memoryMb } = settings;
  const kernel = settings.tiers ?? KERNEL_TIERS[process.platform] ?? [];
  try {
    return await startConfined(
      {
        ...programOf(),
        stdio: ["pipe", "pipe", "ignore"],
        env: {},
        // One processor: a second reader uses the other.
        limits: { memoryMb, cpuShare: 1 },
        nodeFlags: [
          `--max-old-space-size=${Math.floor(memoryMb * HEAP_SHARE)}`,
          "--disallow-code-generation-from-strings",
          "--disable-proto=delete",
          "--no-addons",
        ],
      },
      { tiers: kernel },
    );
  } catch (thrown) {
    if (thrown instanceof LlmcError && thrown.code !== "unavailable") throw thrown;
    throw unconfinable(thrown);
  }
};

/** For its code to load. */
const START_MS = 60_000;

/** V8 and the kernel end a process for its memory by one of these. */
const OUT_OF_MEMORY: readonly unknown[] = ["SIGKILL", "SIGABRT", "SIGTRAP", "SIGILL", 134];

const endedEarly = (exit: Awaited<Confined["gone"]>, memoryMb: number): LlmcError =>
  OUT_OF_MEMORY.includes(exit.signal ?? exit.code)
    ? new LlmcError("file_too_large", `Reading the document takes more than ${memoryMb} MiB of memory.`)
    : new LlmcError("invalid_args", "The document broke the program that reads it.");

const requestFor = ({ name, mediaType }: DocumentInput, limits: ReadLimits): Buffer => {
  const request: ReadRequest = { name, mediaType, limits };
  return encodeFrame(Buffer.from(JSON.stringify(request)));
};

const cancelled = (): LlmcError => new LlmcError("cancelled", "Reading the document was cancelled.");

interface Pending {
  readonly resolve: (document: ParsedDocument) => void;
  readonly reject: (error: unknown) => void;
}

export const startReader = async (settings: ReaderSettings): Promise<Reader> => {
  const { limits, timeoutMs, memoryMb } = settings;
  const { child, kill, gone } = await launch(settings);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the reader has no pipes");
  let pending: Pending | undefined;
  let isAlive = true;
  const settle = (use: (pending: Pending) => void): void => {
    const settled = pending;
    pending = undefined;
    if (settled !== undefined) use(settled);
  };
  const endFor = (error: LlmcError): void => {
    isAlive = false;
    kill();
    settle(({ reject }) => reject(error));
  };
  const ready = Promise.withResolvers<void>();
  let isReady = false;
  const receive = (frame: Buffer): void => {
    if (!isReady) {
      if (frame.toString("latin1") !== READY) throw new TypeError("not ready");
      isReady = true;
      ready.resolve();
      return;
    }
    if (pending === undefined) throw new TypeError("nobody asked");
    const answer = checkAnswer(frame, limits);
    settle(({ resolve, reject }) => {
      if ("document" in answer) resolve(answer.document);
      else reject(new LlmcError(answer.failure.code, answer.failure.message));
    });
  };
  const readFrames = createFrameReader(maxAnswerBytes(limits), receive);
  stdout.on("data", (chunk: Buffer) => {
    if (!isAlive) return;
    try {
      readFrames(chunk);
    } catch {
      endFor(new LlmcError("invalid_args", "The document made its reader send an invalid answer."));
    }
  });
  // That it has ended is reported below.
  for (const stream of [stdin, stdout]) stream.on("error", () => undefined);
  void gone.then((exit) => {
    isAlive = false;
    ready.reject(unconfinable(new Error(`it ended with ${exit.signal ?? exit.code}`)));
    settle(({ reject }) => reject(endedEarly(exit, memoryMb)));
  });
  const startTimer = setTimeout(kill, START_MS);
  await ready.promise.finally(() => clearTimeout(startTimer));

  return {
    isAlive: () => isAlive,
    end: async () => {
      endFor(cancelled());
      await gone;
    },
    read: async (input, signal) => {
      const result = Promise.withResolvers<ParsedDocument>();
      pending = result;
      const timer = setTimeout(
        () =>
          endFor(
            new LlmcError("timeout", `Reading the document took longer than ${timeoutMs / 1000} s.`, {
              retryable: false,
            }),
          ),
        timeoutMs,
      );
      const cancel = (): void => endFor(cancelled());
      signal?.addEventListener("abort", cancel, { once: true });
      stdin.write(requestFor(input, limits));
      stdin.write(encodeFrame(input.bytes));
      try {
        return await result.promise;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
      }
    },
  };
};
