import type { Readable, Writable } from "node:stream";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { createFrameReader, type Frame, refusal, refuseShape } from "./frames.ts";

interface StdioParts {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxFrameBytes: () => number;
  /** How long answers may still be on their way after the input ended, in milliseconds. */
  readonly graceMs: number;
  readonly onRefused: (reason: string) => void;
}

/** Input stops being read while this many bytes of answers wait for a client that does not read them. */
const MAX_UNSENT_BYTES = 16_777_216;

/**
 * MCP over a pair of streams. The SDK's own transport closes the session on an oversize line and stays silent on a
 * malformed one; here both are answered, and the session lives on.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #parts: StdioParts;
  readonly #unanswered = new Set<string | number>();
  #closed = false;
  #inputEnded = false;

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
        output.once("drain", () => input.resume());
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
      for (const id of frame.ids) this.#write(refusal(id, frame.code, frame.reason));
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(frame.value);
    } catch {
      this.#parts.onRefused("not a JSON-RPC message");
      this.#write(refuseShape(frame.value));
      return;
    }
    if ("method" in message && "id" in message) this.#unanswered.add(message.id);
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

  /** `echo … | llmc serve --stdio` ends its input at once: what was asked before the end is still answered. */
  #onInputEnd(): void {
    this.#inputEnded = true;
    if (this.#unanswered.size === 0) void this.close();
    else setTimeout(() => void this.close(), this.#parts.graceMs).unref();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    if (!this.#write(message)) {
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#parts.output.off("drain", done).off("close", done).off("error", done);
          resolve();
        };
        this.#parts.output.once("drain", done).once("close", done).once("error", done);
      });
    }
    if (!("method" in message) && "id" in message) this.#forget(message.id);
    if (this.#inputEnded && this.#unanswered.size === 0) void this.close();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#parts.input.pause();
    this.onclose?.();
  }
}
