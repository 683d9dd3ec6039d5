import { createLineSplitter } from "../base/line-splitter.ts";
import type { Child } from "./child.ts";
import { decodeRecord, type RelayRecord } from "./relay-records.ts";

/** One process that reads lines of the client. */
export interface Front {
  readonly id: number;
  readonly child: Child;
  /** Lines of the negotiation that it has read. */
  readonly negotiated: Set<number>;
  isHealthy: boolean;
  questions: number;
  /** Stopped on purpose. */
  isRetired: boolean;
  startedAt: number;
}

/** Answers of tools are bounded far below; a front that sends more is broken. */
const MAX_RECORD_BYTES = 128 * 1024 * 1024;

/** Follows a process that was started; only whole records count, so the last words of one that was killed are lost. */
export const createFront = (
  id: number,
  child: Child,
  onRecord: (front: Front, record: RelayRecord | undefined) => void,
): Front => {
  const front: Front = {
    id,
    child,
    negotiated: new Set(),
    isHealthy: false,
    questions: 0,
    isRetired: false,
    startedAt: performance.now(),
  };
  const splitter = createLineSplitter(() => MAX_RECORD_BYTES, 0, {
    onLine: (line) => onRecord(front, decodeRecord(line)),
    onOversize: () => child.kill(),
  });
  child.input.on("error", () => {});
  child.output.on("data", splitter.push).on("error", () => {});
  return front;
};

export const sendTo = ({ child }: Front, parts: readonly Uint8Array[]): void => {
  child.input.cork();
  for (const part of parts) child.input.write(part);
  queueMicrotask(() => child.input.uncork());
};
