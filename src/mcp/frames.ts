import { toLlmcError } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { type Ids, idsIn, idsOf } from "./frame-ids.ts";

interface Refused {
  readonly kind: "refused";
  readonly code: number;
  readonly reason: string;
  readonly ids: Ids;
}

/** One line of the stream, parsed; or the reason why it cannot be, with the ids to answer to. */
export type Frame = { readonly kind: "message"; readonly value: unknown } | Refused;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NEWLINE = 10;

/** Bytes that are kept of each end of an oversize frame: ids are near the start or at the very end. */
const ID_WINDOW = 4096;

/** `"id": …` as the last member. In valid JSON it cannot be nested there. */
const TRAILING_ID =
  /(?<!\\)"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,15})\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*)*\}\s*$/;

const findIds = (head: string, tail: string): Ids => {
  const leading = idsIn(head);
  if (leading.length !== 1 || leading[0] !== null) return leading;
  const found = TRAILING_ID.exec(tail)?.[1];
  return [found === undefined ? null : (JSON.parse(found) as string | number)];
};

const refuse = (code: number, reason: string, ids: Ids): Refused => ({
  kind: "refused",
  code,
  reason,
  ids,
});

const parseFrame = (bytes: Buffer): Frame => {
  try {
    const value = parseGuardedBytes(bytes);
    // MCP no longer has JSON-RPC batches; each member that expects an answer gets an error.
    if (Array.isArray(value)) {
      return refuse(INVALID_REQUEST, "Batches are not part of MCP: send one message per line.", idsOf(value));
    }
    return { kind: "message", value };
  } catch (thrown) {
    const { message } = toLlmcError(thrown);
    return refuse(
      message.startsWith("Not valid") ? PARSE_ERROR : INVALID_REQUEST,
      message,
      idsIn(bytes.toString("utf8")),
    );
  }
};

/**
 * Splits a byte stream into frames, one per line. Memory is bounded: once a line exceeds the limit, only its two ends are
 * kept, for the id, and the rest is dropped as it arrives.
 */
export const createFrameReader = (maxFrameBytes: () => number, onFrame: (frame: Frame) => void) => {
  let parts: Buffer[] = [];
  let size = 0;
  let oversize: { readonly head: string; tail: Buffer } | undefined;

  const keep = (part: Buffer): void => {
    size += part.length;
    if (oversize !== undefined) {
      oversize.tail = Buffer.concat([oversize.tail, part.subarray(-ID_WINDOW)]).subarray(-ID_WINDOW);
      return;
    }
    parts.push(part);
    if (size > maxFrameBytes()) {
      const all = Buffer.concat(parts);
      oversize = {
        head: all.subarray(0, ID_WINDOW).toString("utf8"),
        tail: Buffer.from(all.subarray(-ID_WINDOW)),
      };
      parts = [];
    }
  };

  const finish = (): void => {
    if (oversize !== undefined) {
      const limit = maxFrameBytes();
      const reason = `The message has ${size} bytes; the limit is ${limit} (mcp.limits.max_frame_bytes).`;
      onFrame(refuse(INVALID_REQUEST, reason, findIds(oversize.head, oversize.tail.toString("utf8"))));
    } else {
      const line = parts.length === 1 ? parts[0] : Buffer.concat(parts);
      if (line?.some((byte) => byte > 32)) onFrame(parseFrame(line));
    }
    parts = [];
    size = 0;
    oversize = undefined;
  };

  return {
    push: (chunk: Buffer): void => {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, end));
        finish();
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    /** The stream ended: a last line without a newline still counts. */
    end: (): void => {
      if (size > 0) finish();
    },
  };
};

/** The refusal of a message that is JSON but not JSON-RPC. */
export const refuseShape = (value: unknown): Refused =>
  refuse(INVALID_REQUEST, "Not a JSON-RPC 2.0 message.", idsOf(value));
