import { LlmcError } from "../base/error.ts";
import { unknownOutcome } from "./unknown-outcome.ts";

/** Receives lines of an answer as JSON texts. */
export type Listener = (line: string, isLast: boolean) => void;

interface Entry {
  /** The front that asked first. */
  readonly front: string;
  readonly work: string;
  readonly controller: AbortController;
  readonly listeners: Set<Listener>;
  /** The last line, once there is one; null if it was dropped to save memory. */
  result: string | null | undefined;
  /** How many fronts got the result. */
  sent: number;
}

interface Begun {
  readonly n: number;
  readonly round: number;
  readonly generation: number;
  /** The front that asks. */
  readonly front: string;
  /** What is asked for: a digest. */
  readonly work: string;
  /** Whether it changes nothing, so that doing it twice is doing it once. */
  readonly isRepeatable: boolean;
  readonly run: (signal: AbortSignal, emit: (line: string) => void) => Promise<string>;
  /** The last line of a request that is not run. */
  readonly refuse: (error: LlmcError) => string;
}

interface TableParts {
  /** Which core this is, counted from the start of the supervisor. */
  readonly generation: number;
  readonly maxEntries: number;
  readonly maxResultChars: number;
}

/** One front may die for another reason before it has passed on an answer, but hardly five in a row. */
const MAX_SENT = 5;

const unreadable = (): LlmcError =>
  new LlmcError("file_too_large", "The call was done, but its answer could not be delivered.", {
    hint: "Look at what it has changed; ask for a smaller part.",
    retryable: false,
  });

const overloaded = (): LlmcError =>
  new LlmcError("busy", "Too many requests wait for their answers to be read.", {
    hint: "Wait for some of them.",
  });

/**
 * Requests by the client's line and round. A front that died is followed by another that asks again: it joins what runs, or
 * gets the result that was kept for it, and nothing is ever done twice. Results are kept until the supervisor has handed
 * them to the client.
 */
export const createCallTable = ({ generation, maxEntries, maxResultChars }: TableParts) => {
  const lines = new Map<number, Map<number, Entry>>();
  /** Entries with a result, oldest first. */
  const finished = new Set<Entry>();
  let entries = 0;
  let resultChars = 0;

  const drop = (entry: Entry): void => {
    if (typeof entry.result === "string") resultChars -= entry.result.length;
    finished.delete(entry);
  };

  /** What is dropped stays known as done: asked for again, only reading is run again. */
  const makeRoom = (): void => {
    for (const entry of finished) {
      if (resultChars <= maxResultChars) return;
      drop(entry);
      entry.result = null;
    }
  };

  const finish = (n: number, entry: Entry, result: string): void => {
    for (const listener of entry.listeners) listener(result, true);
    if (entry.listeners.size > 0) entry.sent++;
    entry.listeners.clear();
    entry.result = result;
    // Answered already: the supervisor gave up waiting, or a front made the number up.
    if (![...(lines.get(n)?.values() ?? [])].includes(entry)) return;
    resultChars += result.length;
    finished.add(entry);
    makeRoom();
  };

  const start = ({ n, round, front, work, run }: Begun, listener: Listener): void => {
    const entry: Entry = {
      front,
      work,
      controller: new AbortController(),
      listeners: new Set([listener]),
      result: undefined,
      sent: 0,
    };
    const rounds = lines.get(n) ?? new Map<number, Entry>();
    lines.set(n, rounds.set(round, entry));
    entries++;
    const emit = (line: string): void => {
      for (const each of entry.listeners) each(line, false);
    };
    void run(entry.controller.signal, emit).then((result) => finish(n, entry, result));
  };

  const remove = (n: number, round: number, entry: Entry): void => {
    const rounds = lines.get(n);
    drop(entry);
    entries--;
    if (entry.result === undefined) entry.controller.abort();
    rounds?.delete(round);
    if (rounds?.size === 0) lines.delete(n);
  };

  /**
   * The answer that is kept is of no use: it was dropped to save memory, or a front that was taken over asked for something
   * else under this number. Reading is done again; for anything else the outcome is unknown.
   */
  const beginAnew = (begun: Begun, known: Entry, listener: Listener): void => {
    if (!begun.isRepeatable) {
      listener(begun.refuse(unknownOutcome()), true);
      return;
    }
    remove(begun.n, begun.round, known);
    start(begun, listener);
  };

  return {
    /** Runs a request, or joins it. `run` must not throw. Returns a function that stops listening, and nothing else. */
    begin: (begun: Begun, listener: Listener): (() => void) => {
      const known = lines.get(begun.n)?.get(begun.round);
      const stop = (): void => void lines.get(begun.n)?.get(begun.round)?.listeners.delete(listener);
      if (known !== undefined && (known.work !== begun.work || known.result === null))
        beginAnew(begun, known, listener);
      else if (typeof known?.result === "string") {
        // Asked for again, because a front died before the client had it.
        const isUnreadable = ++known.sent > MAX_SENT;
        listener(isUnreadable ? begun.refuse(unreadable()) : known.result, true);
      } else if (known !== undefined) known.listeners.add(listener);
      // The one rule for what another core may have done already.
      else if (begun.generation !== generation && !begun.isRepeatable)
        listener(begun.refuse(unknownOutcome()), true);
      else if (entries >= maxEntries) listener(begun.refuse(overloaded()), true);
      else start(begun, listener);
      return stop;
    },
    /** Only this ends a request before its time: a connection that breaks may be that of a front that died. */
    cancel: (n: number): void => {
      // A round that ended with a question may have left something that waits for the answer.
      for (const { controller } of lines.get(n)?.values() ?? []) controller.abort();
    },
    /** The client has the answer, or no longer wants one: what still runs for it ends. */
    forget: (n: number): void => {
      for (const [round, entry] of [...(lines.get(n) ?? [])]) remove(n, round, entry);
    },
    /** A front has ended: it made up the requests whose numbers belong to no open line of the client. */
    frontEnded: (front: string, isOpen: (n: number) => boolean): void => {
      for (const [n, rounds] of [...lines])
        for (const [round, entry] of [...rounds])
          if (entry.front === front && !isOpen(n)) remove(n, round, entry);
    },
    cancelAll: (): void => {
      for (const rounds of lines.values()) for (const { controller } of rounds.values()) controller.abort();
    },
    size: (): number => entries,
  };
};

export type CallTable = ReturnType<typeof createCallTable>;
