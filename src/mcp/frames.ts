import { LlmcError, toLlmcError } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";

/** One line of the stream, parsed; or the reason why it cannot be, with the id to answer to. */
export type Frame =
  | { readonly kind: "message"; readonly value: unknown }
  | {
      readonly kind: "refused";
      readonly code: number;
      readonly reason: string;
      readonly ids: readonly (string | number | null)[];
    };

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NEWLINE = 10;

/** How much of a refused frame is looked at for its id; ids stand near the start or at the very end. */
const ID_WINDOW = 4096;

/** `"id": …` before any nested value, or as the last member. In valid JSON neither can be a nested one. */
const LEADING_ID =
  /^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*,)*\s*"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,15})\s*[,}]/;
const TRAILING_ID =
  /"id"\s*:\s*("[^"\\]{0,200}"|-?\d{1,15})\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*)*\}\s*$/;

const findId = (head: string, tail: string): string | number | null => {
  const found = LEADING_ID.exec(head)?.[1] ?? TRAILING_ID.exec(tail)?.[1];
  return found === undefined ? null : (JSON.parse(found) as string | number);
};

const idOf = (value: unknown): string | number | null => {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  return typeof value.id === "string" || typeof value.id === "number" ? value.id : null;
};

/** JSON-RPC batches were removed from MCP; each member that expects an answer gets one. */
const refuseBatch = (batch: readonly unknown[]): Frame => {
  const ids = batch.map(idOf).filter((id) => id !== null);
  return {
    kind: "refused",
    code: INVALID_REQUEST,
    reason: "Batches are not part of MCP: send one message per line.",
    ids: ids.length === 0 ? [null] : ids,
  };
};

const parseFrame = (bytes: Buffer): Frame => {
  try {
    const value = parseGuardedBytes(bytes);
    if (Array.isArray(value)) return refuseBatch(value);
    return { kind: "message", value };
  } catch (thrown) {
    const { message } = toLlmcError(thrown);
    const head = bytes.subarray(0, ID_WINDOW).toString("latin1");
    const tail = bytes.subarray(-ID_WINDOW).toString("latin1");
    const code = message.startsWith("Not valid") ? PARSE_ERROR : INVALID_REQUEST;
    return { kind: "refused", code, reason: message, ids: [findId(head, tail)] };
  }
};

/**
 * Cuts a byte stream into frames, one per line. Memory is bounded: once a line passes the limit, only its two ends are
 * kept, for the id, and the rest is dropped as it arrives. The next line starts clean.
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
        head: all.subarray(0, ID_WINDOW).toString("latin1"),
        tail: Buffer.from(all.subarray(-ID_WINDOW)),
      };
      parts = [];
    }
  };

  const finish = (): void => {
    if (oversize !== undefined) {
      const limit = maxFrameBytes();
      onFrame({
        kind: "refused",
        code: INVALID_REQUEST,
        reason: `The message has ${size} bytes; the limit is ${limit} (mcp.limits.max_frame_bytes).`,
        ids: [findId(oversize.head, oversize.tail.toString("latin1"))],
      });
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

export const refusal = (id: string | number | null, code: number, message: string) => ({
  jsonrpc: "2.0",
  id,
  error: { code, message },
});

/** A message that is JSON but no JSON-RPC: what to answer, or undefined when nothing expects an answer. */
export const refuseShape = (value: unknown): ReturnType<typeof refusal> => {
  const error = new LlmcError("invalid_args", "Not a JSON-RPC 2.0 message.");
  return refusal(idOf(value), INVALID_REQUEST, error.message);
};
