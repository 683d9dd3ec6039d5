import type { IncomingMessage } from "node:http";
import { createByteCollector } from "../base/byte-collector.ts";
import { LlmcError } from "../base/error.ts";
import type { ByteBudget } from "./byte-budget.ts";

/**
 * Each piece of a body costs Node 400 bytes and a microsecond and a half, whatever is in it, and a client may send one
 * byte in each. Bodies of ordinary clients come in pieces of kilobytes; an encoder that writes token by token stays
 * below this.
 */
const MAX_PIECES = 4096;
const BYTES_PER_FURTHER_PIECE = 64;

const tooLarge = (): LlmcError =>
  new LlmcError("file_too_large", "The request body is too large.", {
    hint: "Send less at once; the limit is mcp.limits.max_request_bytes.",
  });

const inTooManyPieces = (): LlmcError =>
  new LlmcError("file_too_large", "The request body comes in too many small pieces.", {
    hint: "Send it whole, or in chunks of 64 bytes and more.",
  });

/** Collects the pieces, as long as they are neither too long nor too many. */
const createCollector = (maxBytes: number, onPiece: (bytes: number) => void) => {
  const collected = createByteCollector();
  let pieces = 0;
  return {
    add: (piece: Buffer): void => {
      const end = collected.size() + piece.length;
      if (end > maxBytes) throw tooLarge();
      onPiece(piece.length);
      if (++pieces > MAX_PIECES + end / BYTES_PER_FURTHER_PIECE) throw inTooManyPieces();
      collected.add(piece);
    },
    finish: collected.take,
  };
};

/**
 * The whole body of a request, bounded in bytes and in the pieces that they come in. What `onPiece` throws ends it, too.
 */
export const readBody = (
  request: IncomingMessage,
  maxBytes: number,
  onPiece: (bytes: number) => void = () => {},
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"]) > maxBytes) {
      reject(tooLarge());
      return;
    }
    const { add, finish } = createCollector(maxBytes, onPiece);
    const stop = (): void => {
      request.off("data", onData).off("end", onEnd).off("error", onError);
    };
    const onData = (piece: Buffer): void => {
      try {
        add(piece);
      } catch (error) {
        stop();
        reject(error as Error);
      }
    };
    const onEnd = (): void => {
      stop();
      resolve(finish());
    };
    const onError = (cause: Error): void => {
      stop();
      reject(new LlmcError("invalid_args", "The request is malformed.", { cause }));
    };
    request.on("data", onData).on("end", onEnd).on("error", onError);
  });

/** The same; until the body is there, it counts in a budget. */
export const readBodyWithin = async (
  budget: ByteBudget,
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer> => {
  let taken = 0;
  const take = (bytes: number): void => {
    budget.take(bytes);
    taken += bytes;
  };
  try {
    return await readBody(request, maxBytes, take);
  } finally {
    budget.give(taken);
  }
};
