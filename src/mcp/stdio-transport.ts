import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { createFrameReader, type Frame, failedAnswer, refuseShape } from "./frames.ts";
import { shortError } from "./short-error.ts";

interface StdioParts {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxFrameBytes: () => number;
  /** How long to wait for unfinished answers after the input has ended. */
  readonly graceMs: number;
  readonly onRefused: (reason: string) => void;
  /** So many requests had no answer when the time was up. */
  readonly onDropped: (count: number) => void;
}

/** The input is paused while more bytes of answers than this wait for a client that does not read them. */
const MAX_UNSENT_BYTES = 16_777_216;

/**
 * MCP over a pair of streams. The SDK's own transport closes the session at an oversize line and ignores a malformed
 * one; this one answers both with an error and goes on.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #parts: StdioParts;
  readonly #unanswered = new Set<string | number>();
  #closed = false;
  #inputEnded = false;
  #draining: Promise<void> | undefined;

  constructor(parts: StdioParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { input, output, maxFrameBytes } = this.#parts;
    const reader = createFrameReader(maxFrameBytes, (frame) => this.#receive(frame));
    input.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      if (output.writableLength > MAX_UNSENT_BYTES) {
        input.pause();
        void this.#drained().then(() => {
          if (!this.#closed) input.resume();
        });
      }
    });
    input.on("end", () => {
      reader.end();
      this.#onInputEnd();
    });
    input.on("error", (error) => this.onerror?.(error));
    output.on("error", () => void this.close());
  }

  #receive(frame: Frame): void {
    if (frame.kind === "refused") {
      this.#parts.onRefused(frame.reason);
      for (const id of frame.ids)
        this.#write({ jsonrpc: "2.0", id, error: { code: frame.code, message: frame.reason } });
      const answer = failedAnswer(frame);
      if (answer !== undefined) this.onmessage?.(answer);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(frame.value);
    } catch {
      this.#receive(refuseShape(frame.value));
      return;
    }
    // A subscription is only answered when it ends, so nobody waits for its answer.
    if ("method" in message && "id" in message && message.method !== "subscriptions/listen")
      this.#unanswered.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled")
      this.#forget(message.params?.["requestId"]);
    this.onmessage?.(message);
  }

  #forget(id: unknown): void {
    if (typeof id === "string" || typeof id === "number") this.#unanswered.delete(id);
  }

  #write(message: unknown): boolean {
    return this.#closed ? false : this.#parts.output.write(`${JSON.stringify(message)}\n`);
  }

  /** One promise for all: a client that does not read may leave thousands of answers waiting. */
  #drained(): Promise<void> {
    this.#draining ??= new Promise<void>((resolve) => {
      const { output } = this.#parts;
      const done = () => {
        output.off("drain", done).off("close", done).off("error", done);
        this.#draining = undefined;
        resolve();
      };
      output.once("drain", done).once("close", done).once("error", done);
    });
    return this.#draining;
  }

  /** `echo … | llmc serve --stdio` ends its input at once: requests before the end are still answered. */
  #onInputEnd(): void {
    this.#inputEnded = true;
    if (this.#unanswered.size === 0) void this.close();
    // Not unref'd: with stdin closed, this timer may be all that keeps the process alive until it is done.
    else
      setTimeout(() => {
        if (!this.#closed && this.#unanswered.size > 0) this.#parts.onDropped(this.#unanswered.size);
        void this.close();
      }, this.#parts.graceMs);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    const bounded = "error" in message ? { ...message, error: shortError(message.error) } : message;
    if (!this.#write(bounded)) await this.#drained();
    if (!("method" in message) && "id" in message) this.#forget(message.id);
    if (this.#inputEnded && this.#unanswered.size === 0) void this.close();
  }

  /** Waits until a slow reader has received what was written, for a limited time. */
  #flushed(): Promise<void> {
    const { output, graceMs } = this.#parts;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      if (output.writableLength === 0 || output.destroyed) done();
      else output.write("", done);
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#parts.input.pause();
    await this.#flushed();
    this.onclose?.();
  }
}
