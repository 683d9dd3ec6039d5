export type RefusalFields = Readonly<Record<string, string>>;

/** Gets a refusal, or a sum of them: then `dropped` is how many. */
type WriteRefusal = (fields: Readonly<Record<string, string | number>>, reason: string) => void;

interface Bound {
  readonly windowMs: number;
  /** Per window, so that a client that is refused a thousand times a second does not fill the disk. */
  readonly maxLines: number;
}

const PER_MINUTE: Bound = { windowMs: 60_000, maxLines: 60 };

interface Dropped {
  readonly reason: string;
  /** Of the last one: a line that stands for many names one of them. */
  fields: RefusalFields;
  count: number;
}

/** Writes refusals down: a number each minute, and at its end the sum of the others, by reason, door and token. */
export const createRefusalLog = (now: () => number, write: WriteRefusal, bound: Bound = PER_MINUTE) => {
  let windowEndsAt = 0;
  let lines = 0;
  let dropped = new Map<string, Dropped>();

  const flush = (): void => {
    const all = dropped;
    dropped = new Map();
    for (const { reason, fields, count } of all.values()) write({ ...fields, dropped: count }, reason);
  };

  const drop = (reason: string, fields: RefusalFields, at: number, count: number): void => {
    if (dropped.size === 0) setTimeout(flush, windowEndsAt - at).unref();
    const key = `${reason} ${fields["transport"] ?? ""} ${fields["token_name"] ?? ""}`;
    const known = dropped.get(key) ?? { reason, fields, count: 0 };
    known.count += count;
    known.fields = fields;
    dropped.set(key, known);
  };

  const record = (reason: string, fields: RefusalFields, count = 1): void => {
    const at = now();
    if (at >= windowEndsAt) {
      windowEndsAt = at + bound.windowMs;
      lines = 0;
    }
    const written = Math.min(count, bound.maxLines - lines);
    lines += written;
    for (let i = 0; i < written; i++) write(fields, reason);
    if (count > written) drop(reason, fields, at, count - written);
  };

  /** `flush` writes the sums at once, before the program ends. */
  return { record, flush };
};

export type RefusalLog = ReturnType<typeof createRefusalLog>;
