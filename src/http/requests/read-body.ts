import type { IncomingMessage } from "node:http";
import { LlmcError } from "../../base/error.ts";

/**
 * Each piece of a body costs Node 400 bytes and a microsecond and a half, whatever is in it, and a client may send one
 * byte in each. Bodies of ordinary clients come in pieces of kilobytes; an encoder that writes token by token stays
 * below this.
 */
const MAX_PIECES = 4096;
const BYTES_PER_FURTHER_PIECE = 64;
/** What the body is collected in at first; it grows with what has arrived, and not with what was announced. */
const FIRST_BYTES = 4096;

const tooLarge = (): LlmcError =>
  new LlmcError("file_too_large", "The request body is too large.", {
    hint: "Send less at once; the limit is mcp.limits.max_request_bytes.",
  });

const inTooManyPieces = (): LlmcError =>
  new LlmcError("file_too_large", "The request body comes in too many small pieces.", {
    hint: "Send it whole, or in chunks of 64 bytes and more.",
  });

/** Collects the pieces in one buffer, which is all the memory that a body takes. */
const createCollector = (maxBytes: number, onPiece: (bytes: number) => void) => {
  let held = Buffer.allocUnsafe(FIRST_BYTES);
  let [bytes, pieces] = [0, 0];
  return {
    add: (piece: Buffer): void => {
      const end = bytes + piece.length;
      if (end > maxBytes) throw tooLarge();
      onPiece(piece.length);
      if (++pieces > MAX_PIECES + end / BYTES_PER_FURTHER_PIECE) throw inTooManyPieces();
      if (end > held.length) {
        const larger = Buffer.allocUnsafe(Math.max(end, 2 * held.length));
        held.copy(larger, 0, 0, bytes);
        held = larger;
      }
      piece.copy(held, bytes);
      bytes = end;
    },
    finish: (): Buffer => held.subarray(0, bytes),
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
