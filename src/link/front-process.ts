import { createLineSplitter } from "../base/line-splitter.ts";
import type { Child, ChildExit } from "./child.ts";
import { type ClientLine, type ClientLines, refuseLine } from "./client-lines.ts";
import { decodeRecord, encodeRecord, type RelayRecord } from "./relay-records.ts";

/** A front that was started, and where the core connects to it. */
export interface FrontChild extends Child {
  readonly socketPath: string;
}

/** One process that reads lines of the client. */
export interface Front {
  readonly id: number;
  readonly child: FrontChild;
  /** Lines of the negotiation that it has read; `Fronts` forgets those that are no longer kept. */
  readonly negotiated: Set<number>;
  isHealthy: boolean;
  /** Whether it can speak to the core, as far as it has tried. */
  fits: boolean | undefined;
  questions: number;
  /** Stopped on purpose. */
  isRetired: boolean;
  startedAt: number;
}

export interface HowEnded extends Pick<Front, "child" | "isRetired" | "isHealthy" | "fits"> {
  /** It read the client's lines; false for a candidate, and for one whose place another has taken. */
  readonly wasActive: boolean;
}

/** What fronts need of their supervisor. */
export interface FrontParts {
  readonly lines: ClientLines;
  /** Starts the program; `front` counts them. */
  readonly start: (front: number) => Promise<FrontChild>;
  /** Bytes of lines that a front has at once, unless one line is longer; left out where it gets none. */
  readonly maxGivenBytes?: () => number;
  /** What a front learns when it starts, in JSON. */
  readonly hello: (front: number) => string;
  /** What it may answer without the core, if that is known, in JSON. */
  readonly snapshot: () => Buffer | undefined;
  readonly core: () => { readonly isReady: boolean; readonly generation: number };
  /** Writes lines to the client. */
  readonly onMessage: (lines: readonly Buffer[]) => void;
  /** A line of the client needs nothing more. */
  readonly onSettled: (line: ClientLine) => void;
  /** The last change of which the front that reads notified the client. What one that it replaced says late is older. */
  readonly onSeen: (text: string) => void;
  /** How many connections of clients a front has. */
  readonly onConnections?: (front: FrontChild, count: number) => void;
  readonly onFailedStart: (thrown: unknown) => void;
  readonly onStarted: (child: FrontChild) => void;
  /** A front has said that it is well. */
  readonly onWell?: (front: FrontChild) => void;
  /**
   * How long a replacement waits for questions that the client has not answered, in milliseconds. Left out where fronts
   * have no questions: what they say of them is ignored.
   */
  readonly maxQuestionMs?: number;
  /** How long fronts may take to end by themselves, in milliseconds, where they have more to do than to end. */
  readonly endMs?: { readonly replaced: number; readonly stopped: number };
  readonly onEnded: (exit: ChildExit, how: HowEnded) => void;
  /** No front of what is installed now can speak to the core, so that the core has to be started again, too. */
  readonly onMisfit: () => void;
}

/** Answers of tools are bounded far below; a front that sends more is broken. */
const MAX_RECORD_BYTES = 128 * 1024 * 1024;

/** A front that answers what it has not read gets no more lines than this ahead. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** Whether the front reads what it is given. */
export const isReading = ({ child }: Front): boolean => child.input.writableLength <= MAX_UNREAD_BYTES;

/** Follows a process that was started; only whole records count, so the last words of one that was killed are lost. */
export const createFront = (
  id: number,
  child: FrontChild,
  onRecord: (front: Front, record: RelayRecord | undefined) => void,
): Front => {
  const front: Front = {
    id,
    child,
    negotiated: new Set(),
    isHealthy: false,
    fits: undefined,
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

/** Hands a line of the client to a front, in the form in which it is to be read. */
export const deliverTo = (front: Front, line: ClientLine, coreGeneration: number): void => {
  line.generation ??= coreGeneration;
  line.owner = front.id;
  line.isParsed = false;
  const fields = [line.n, line.generation, line.fronts];
  line.fronts++;
  if (line.refusal === undefined) {
    sendTo(front, encodeRecord("L", fields, line.body));
    return;
  }
  const { size, limit, head, tail } = line.refusal;
  sendTo(
    front,
    encodeRecord("X", [...fields, size, limit, head.toString("base64"), tail.toString("base64")]),
  );
};

/** What a front reports about a line that it has. */
export const takeFor = (
  front: Front,
  line: ClientLine,
  { kind, payload }: RelayRecord,
  { lines, onMessage, onSettled }: FrontParts,
): void => {
  if (kind === "T") line.isParsed = true;
  else if (kind === "K") {
    if (lines.keep(line)) front.negotiated.add(line.n);
  } else if (kind === "W") line.isLasting = true;
  else if (kind === "G") {
    if (lines.hold(line, payload)) return;
    refuseLine(line);
    front.child.kill();
  } else if (kind === "A" || kind === "D") {
    const held = lines.letGo(line);
    onMessage(kind === "A" ? [...held, payload] : held);
    lines.settle(line);
    onSettled(line);
  }
};

/** What a front has to know before anything else. */
export const introduceTo = (front: Front, { hello, snapshot, core }: FrontParts): void => {
  sendTo(front, encodeRecord("I", [], hello(front.id)));
  const known = snapshot();
  if (known !== undefined) sendTo(front, encodeRecord("C", [], known));
  if (core().isReady) sendTo(front, encodeRecord("U", [core().generation]));
};

/** What the client has negotiated, as far as the front does not know it, and the open lines that are chosen. */
export const replayTo = (
  front: Front,
  { lines, core }: FrontParts,
  isWanted: (line: ClientLine) => boolean,
): void => {
  for (const each of lines.replay()) {
    if (!("answered" in each)) {
      if (isWanted(each)) deliverTo(front, each, core().generation);
    } else if (!front.negotiated.has(each.n)) {
      front.negotiated.add(each.n);
      sendTo(front, encodeRecord("R", [each.n], each.answered));
    }
  }
};

/** How long a front may take until it has answered what it has. */
const MAX_DRAIN_MS = 30_000;
const DRAIN_CHECK_MS = 50;
/** How long it may take to end by itself. */
const MAX_END_MS = 1000;

export const retire = ({ child }: Front, maxEndMs = MAX_END_MS): void => {
  child.input.end(Buffer.concat([...encodeRecord("E")]));
  const timer = setTimeout(() => child.kill(), maxEndMs).unref();
  void child.exited.then(() => clearTimeout(timer));
};

interface Draining {
  /** Called before each look at the front. */
  readonly onCheck: () => void;
  /** Whether it has answered everything. */
  readonly isDrained: () => boolean;
  readonly maxEndMs: number | undefined;
}

/** Retires a front once it has answered everything, or has had enough time for it. */
export const drain = (front: Front, { onCheck, isDrained, maxEndMs }: Draining): void => {
  const since = performance.now();
  const check = setInterval(() => {
    onCheck();
    if (!isDrained() && performance.now() - since < MAX_DRAIN_MS) return;
    clearInterval(check);
    retire(front, maxEndMs);
  }, DRAIN_CHECK_MS);
  check.unref();
};
