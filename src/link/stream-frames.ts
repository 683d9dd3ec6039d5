import { createByteCollector } from "../base/byte-collector.ts";

/**
 * What front and core say on an upgraded connection: frames of a length, the number of a stream, a kind and a text. Any
 * number of requests share a connection; each is a stream, and its answer is the lines with its number.
 */
export const HEAD_BYTES = 9;

/** `line`: a request, or a line of an answer. `refused`: the request was not looked at, and why. */
const KINDS = ["line", "refused"] as const;
type FrameKind = (typeof KINDS)[number];

export const encodeFrame = (stream: number, text: string, kind: FrameKind = "line"): Buffer => {
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.writeUInt32BE(stream, 4);
  frame.writeUInt8(KINDS.indexOf(kind), 8);
  frame.write(text, HEAD_BYTES, "utf8");
  return frame;
};

interface FrameReader {
  readonly maxBytes: () => number;
  readonly onFrame: (stream: number, payload: Buffer, kind: FrameKind) => void;
  /** A frame is longer than allowed. Its bytes are skipped as they come; the others are read. */
  readonly onOversize: (stream: number) => void;
  /** Bytes that belong to no frame that is passed on. */
  readonly onSkipped?: (bytes: number) => void;
  /** Not a frame of ours; what follows it cannot be read. */
  readonly onMalformed: () => void;
}

/** Takes chunks as they come and passes on whole frames. */
export const createFrameReader = (reader: FrameReader) => {
  const { maxBytes, onFrame, onOversize, onSkipped, onMalformed } = reader;
  /** The beginning of a frame: a long one is put together once, not with every chunk. */
  const begun = createByteCollector();
  /** Bytes until there is something to read. */
  let needed = HEAD_BYTES;
  /** Bytes of an oversize frame that are still to come. */
  let toSkip = 0;
  let isBroken = false;
  const skip = (chunk: Buffer): Buffer => {
    const skipped = Math.min(toSkip, chunk.length);
    toSkip -= skipped;
    if (skipped > 0) onSkipped?.(skipped);
    return chunk.subarray(skipped);
  };
  /** What has come and was not read, if that is enough to read something. */
  const takeEnough = (chunk: Buffer): Buffer | undefined => {
    if (begun.size() === 0 && chunk.length >= needed) return chunk;
    begun.add(chunk);
    return begun.size() < needed ? undefined : begun.take();
  };
  return (received: Buffer): void => {
    const chunk = skip(received);
    if (isBroken || chunk.length === 0) return;
    let rest = takeEnough(chunk);
    if (rest === undefined) return;
    needed = HEAD_BYTES;
    while (rest.length >= HEAD_BYTES) {
      const length = rest.readUInt32BE(0);
      const stream = rest.readUInt32BE(4);
      const kind = KINDS[rest.readUInt8(8)];
      if (kind === undefined) {
        isBroken = true;
        onMalformed();
        return;
      }
      if (length > maxBytes()) {
        onOversize(stream);
        toSkip = HEAD_BYTES + length;
        rest = skip(rest);
        continue;
      }
      if (rest.length < HEAD_BYTES + length) {
        needed = HEAD_BYTES + length;
        break;
      }
      onFrame(stream, rest.subarray(HEAD_BYTES, HEAD_BYTES + length), kind);
      rest = rest.subarray(HEAD_BYTES + length);
    }
    if (rest.length > 0) begun.add(rest);
  };
};

/** The name of the protocol that a connection is upgraded to. */
export const STREAM_PROTOCOL = "llmc-link";
export const STREAM_PATH = "/v1/stream";
