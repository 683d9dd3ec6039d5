import type { JSONRPCErrorResponse } from "@modelcontextprotocol/server";
import { toLlmcError } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { createLineSplitter, isBlank } from "../base/line-splitter.ts";
import { type Addressed, addressedIn, addressedOf } from "./frame-ids.ts";

interface Refused extends Addressed {
  readonly kind: "refused";
  readonly code: number;
  readonly reason: string;
}

/** One line of the stream, parsed; or the reason why it cannot be, with the ids to answer to and the question that it ends. */
export type Frame = { readonly kind: "message"; readonly value: unknown } | Refused;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** Bytes that are kept of each end of an oversize frame: ids are near the start or at the very end. */
const ID_WINDOW = 4096;

/** `"id": …` as the last member. In valid JSON it cannot be nested there. */
const TRAILING_ID =
  /(?<!\\)"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,15})\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*)*\}\s*$/;

const findAddressed = (head: string, tail: string): Addressed => {
  const leading = addressedIn(head);
  const { ids, question } = leading;
  const isAnswer = ids.length === 0;
  const isUnknown = isAnswer ? question === undefined : ids.length === 1 && ids[0] === null;
  const found = isUnknown ? TRAILING_ID.exec(tail)?.[1] : undefined;
  if (found === undefined) return leading;
  const id = JSON.parse(found) as string | number;
  return isAnswer ? { ids, question: id } : { ids: [id], question };
};

const refuse = (code: number, reason: string, addressed: Addressed): Refused => ({
  kind: "refused",
  code,
  reason,
  ...addressed,
});

export const parseFrame = (bytes: Buffer): Frame => {
  try {
    const value = parseGuardedBytes(bytes);
    // MCP no longer has JSON-RPC batches; each member that expects an answer gets an error.
    if (Array.isArray(value)) {
      return refuse(
        INVALID_REQUEST,
        "Batches are not part of MCP: send one message per line.",
        addressedOf(value),
      );
    }
    return { kind: "message", value };
  } catch (thrown) {
    const { message } = toLlmcError(thrown);
    return refuse(
      message.startsWith("Not valid") ? PARSE_ERROR : INVALID_REQUEST,
      message,
      addressedIn(bytes.toString("utf8")),
    );
  }
};

/** The refusal of a line of which only the two ends are known. */
export const refuseEnds = (reason: string, head: Buffer, tail: Buffer): Refused =>
  refuse(INVALID_REQUEST, reason, findAddressed(head.toString("utf8"), tail.toString("utf8")));

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
  refuse(INVALID_REQUEST, "Not a JSON-RPC 2.0 message.", addressedOf(value));

/** What becomes of a question whose answer cannot be read: nobody has to wait for another one. */
export const failedAnswer = ({ code, reason, question }: Refused): JSONRPCErrorResponse | undefined =>
  question === undefined ? undefined : { jsonrpc: "2.0", id: question, error: { code, message: reason } };
