import { toLlmcError } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { createLineSplitter, isBlank } from "../base/line-splitter.ts";
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

export const parseFrame = (bytes: Buffer): Frame => {
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

/** The refusal of a line of which only the two ends are known. */
export const refuseEnds = (reason: string, head: Buffer, tail: Buffer): Refused =>
  refuse(INVALID_REQUEST, reason, findIds(head.toString("utf8"), tail.toString("utf8")));

export const oversizeReason = (size: number, limit: number): string =>
  `The message has ${size} bytes; the limit is ${limit} (mcp.limits.max_frame_bytes).`;

/** Splits a byte stream into frames, one per line, in bounded memory. */
export const createFrameReader = (maxFrameBytes: () => number, onFrame: (frame: Frame) => void) =>
  createLineSplitter(maxFrameBytes, ID_WINDOW, {
    onLine: (line) => {
      if (!isBlank(line)) onFrame(parseFrame(line));
    },
    onOversize: (size, head, tail) => onFrame(refuseEnds(oversizeReason(size, maxFrameBytes()), head, tail)),
  });

/** The refusal of a message that is JSON but not JSON-RPC. */
export const refuseShape = (value: unknown): Refused =>
  refuse(INVALID_REQUEST, "Not a JSON-RPC 2.0 message.", idsOf(value));
