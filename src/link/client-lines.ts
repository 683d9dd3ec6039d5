/** What is known of a line that is not passed on, because it is too long or every front that parsed it died. */
interface Refusal {
  readonly size: number;
  /** The limit that it exceeds; 0 where it does not. */
  readonly limit: number;
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** A line of the client that has not been answered. */
export interface ClientLine {
  readonly n: number;
  readonly body: Buffer;
  refusal: Refusal | undefined;
  /** The core that was alive when the line was first delivered. */
  generation: number | undefined;
  /** How many fronts have had it. */
  fronts: number;
  /** The front that has it now. */
  owner: number | undefined;
  isParsed: boolean;
  /** How many fronts died over it. */
  strikes: number;
  /** The line stays open, and the next front takes it over. */
  isLasting: boolean;
  /** Answers that go out together with the last one. */
  held: Buffer[];
}

/** Bounds of what a connection may depend on; a front refuses more subscriptions than that. */
const MAX_NEGOTIATION_LINES = 1100;
const MAX_NEGOTIATION_BYTES = 8 * 1024 * 1024;

/** How many bytes of each end of a refused line are kept: ids are near the start or at the very end. */
export const END_BYTES = 4096;
const MAX_STRIKES = 3;
/** Of answers that wait for the last one to the same line, of all lines together: errors that name the ids of one line. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
const MAX_HELD = 20_000;

/**
 * The client's lines, numbered as they come: those that have no answer yet, and those that were answered but that the next
 * front has to know.
 */
export const createClientLines = () => {
  const open = new Map<number, ClientLine>();
  const negotiation = new Map<number, Buffer>();
  let last = 0;
  let bytes = 0;
  let negotiationBytes = 0;
  let heldBytes = 0;
  let heldCount = 0;

  const release = (n: number): void => {
    negotiationBytes -= negotiation.get(n)?.length ?? 0;
    negotiation.delete(n);
  };

  const letGo = (line: ClientLine): readonly Buffer[] => {
    const { held } = line;
    for (const answer of held) heldBytes -= answer.length;
    heldCount -= held.length;
    line.held = [];
    return held;
  };

  return {
    add: (body: Buffer, refusal?: Refusal): ClientLine => {
      last++;
      const line: ClientLine = {
        n: last,
        body,
        refusal,
        generation: undefined,
        fronts: 0,
        owner: undefined,
        isParsed: false,
        strikes: 0,
        isLasting: false,
        held: [],
      };
      open.set(last, line);
      bytes += body.length;
      return line;
    },
    find: (n: number): ClientLine | undefined => open.get(n),
    settle: (line: ClientLine): void => {
      letGo(line);
      if (open.delete(line.n)) bytes -= line.body.length;
    },
    /** Keeps an answer until the last one to the line; false if that is more than any front has to say. */
    hold: (line: ClientLine, answer: Buffer): boolean => {
      if (heldCount >= MAX_HELD || heldBytes + answer.length > MAX_HELD_BYTES) return false;
      heldCount++;
      heldBytes += answer.length;
      // A copy: it would hold on to the whole chunk that it came in.
      line.held.push(Buffer.from(answer));
      return true;
    },
    /** Forgets what was held, and returns it. */
    letGo,
    /** False if more is kept already than a connection may depend on. */
    keep: ({ n, body }: ClientLine): boolean => {
      if (negotiation.size >= MAX_NEGOTIATION_LINES || negotiationBytes + body.length > MAX_NEGOTIATION_BYTES)
        return false;
      release(n);
      negotiation.set(n, body);
      negotiationBytes += body.length;
      return true;
    },
    release,
    open: (): readonly ClientLine[] => [...open.values()],
    /** Everything that a new front has to read, in the order in which it came. */
    replay: (): readonly (ClientLine | { readonly n: number; readonly answered: Buffer })[] =>
      [
        ...[...negotiation].filter(([n]) => !open.has(n)).map(([n, answered]) => ({ n, answered })),
        ...open.values(),
      ].toSorted((a, b) => a.n - b.n),
    count: (): number => open.size,
    bytes: (): number => bytes,
  };
};

export type ClientLines = ReturnType<typeof createClientLines>;

/** No front reads the line again: the next one answers it with an error. */
export const refuseLine = (line: ClientLine): void => {
  const { body } = line;
  line.refusal ??= {
    size: body.length,
    limit: 0,
    head: body.subarray(0, END_BYTES),
    tail: body.subarray(-END_BYTES),
  };
};

/** A front died: the first line that it had not parsed yet is suspected, and refused when that happens again and again. */
export const strike = (lines: readonly ClientLine[]): void => {
  const suspect = lines.find(({ isParsed }) => !isParsed);
  if (suspect !== undefined && ++suspect.strikes >= MAX_STRIKES) refuseLine(suspect);
};
