interface Entry {
  readonly value: unknown;
  readonly bytes: number;
  readonly madeAt: number;
  readonly endsAt: number;
}

interface Use {
  hits: number;
  misses: number;
}

export interface CacheStats {
  readonly entries: number;
  readonly bytes: number;
  readonly hits: number;
  readonly misses: number;
}

/** A part of the shared memory for values of one kind, which become outdated after a time. */
export interface Cache<T> {
  /** The value of a key; made and kept if there is none. */
  get(key: string, make: () => T): T;
  /** Forgets every value: what they were made from has changed. */
  clear(): void;
}

/** The same, for values that are made elsewhere or have a time of their own. */
export interface TimedCache<T> extends Cache<T> {
  /** The value of a key, if it is kept and not older than this: whoever kept it may have wanted it for longer. */
  peek(key: string, maxAgeMs?: number): T | undefined;
  put(key: string, value: T, ttlMs: number): void;
}

interface CachesOptions {
  /** Of all caches together; 0 keeps nothing. Read each time, because the configuration can change. */
  readonly maxBytes: () => number;
  readonly now: () => number;
}

/** What a value takes, as text; objects in memory take a few times as much, in proportion. */
const sizeOf = (key: string, value: unknown): number => key.length + (JSON.stringify(value)?.length ?? 0);

export type Caches = ReturnType<typeof createCaches>;

/** Caches that share one bound: whatever was used least recently goes first. */
export const createCaches = ({ maxBytes, now }: CachesOptions) => {
  /** Least recently used first. */
  const entries = new Map<string, Entry>();
  const uses = new Map<string, Use>();
  let bytes = 0;

  const remove = (key: string): void => {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  /** Puts the entry last; one that does not fit at all is not kept, and takes nothing with it. */
  const add = (key: string, entry: Entry): void => {
    remove(key);
    const limit = maxBytes();
    if (entry.bytes <= limit) {
      entries.set(key, entry);
      bytes += entry.bytes;
    }
    for (const oldest of entries.keys()) {
      if (bytes <= limit) break;
      remove(oldest);
    }
  };

  return {
    open: <T>(name: string, ttlMs: number): TimedCache<T> => {
      const use: Use = { hits: 0, misses: 0 };
      uses.set(name, use);
      const prefix = `${name}\0`;
      return {
        get: (key, make) => {
          const known = entries.get(prefix + key);
          if (known !== undefined && known.endsAt > now()) {
            use.hits++;
            add(prefix + key, known);
            return known.value as T;
          }
          use.misses++;
          const value = make();
          add(prefix + key, { value, bytes: sizeOf(key, value), madeAt: now(), endsAt: now() + ttlMs });
          return value;
        },
        peek: (key, maxAgeMs = Number.POSITIVE_INFINITY) => {
          const known = entries.get(prefix + key);
          if (known === undefined || Math.min(known.endsAt, known.madeAt + maxAgeMs) <= now()) {
            use.misses++;
            return undefined;
          }
          use.hits++;
          add(prefix + key, known);
          return known.value as T;
        },
        put: (key, value, ownTtlMs) =>
          add(prefix + key, { value, bytes: sizeOf(key, value), madeAt: now(), endsAt: now() + ownTtlMs }),
        clear: () => {
          for (const key of [...entries.keys()]) if (key.startsWith(prefix)) remove(key);
        },
      };
    },
    stats: (): CacheStats => ({
      entries: entries.size,
      bytes,
      hits: [...uses.values()].reduce((sum, { hits }) => sum + hits, 0),
      misses: [...uses.values()].reduce((sum, { misses }) => sum + misses, 0),
    }),
  };
};
