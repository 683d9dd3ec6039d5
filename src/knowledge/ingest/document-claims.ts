import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Claim, Claimed, Generation, Store } from "../store/contract.ts";

/** How often a run shows that it is alive, and reads the claims of the others. */
const TICK_MS = 1000;
/** A claim that was not renewed for so many ticks is dropped: its holder was killed or cut off. */
const STALE_TICKS = 5;

/** What became of documents that other runs had claimed. */
export interface Settled {
  readonly known: ReadonlySet<string>;
  /** Reasons by key. */
  readonly failed: ReadonlyMap<string, string>;
  /** Nobody works on them any more. */
  readonly free: ReadonlySet<string>;
}

export interface DocumentClaims {
  readonly holder: string;
  take(key: string): Promise<Claimed>;
  /** The same, also from a holder that was killed; false where its holder is alive. Takes some seconds to find that out. */
  takeOver(key: string, signal: AbortSignal | undefined): Promise<boolean>;
  /** Other runs report the failure and do not read the document again. */
  fail(key: string, reason: string): Promise<void>;
  /** Waits until something can be done about documents of others. */
  settle(keys: readonly string[], signal: AbortSignal | undefined): Promise<Settled>;
  close(): Promise<void>;
}

interface Seen {
  readonly claim: Claim;
  readonly ticks: number;
}

/**
 * Divides the documents of a generation among the runs that read into it at the same time, on whatever machines. Claims
 * only save work: a document that two runs add all the same is added once. Runs judge each other by beats that they see
 * and not by times that they wrote, so that their clocks need not agree.
 */
export const createDocumentClaims = (store: Store, generation: Generation): DocumentClaims => {
  const { claims } = store;
  const { id } = generation;
  const holder = randomUUID();
  let others: ReadonlyMap<string, Seen> = new Map();
  let ticking: Promise<void> = Promise.resolve();

  const tick = async (): Promise<void> => {
    await claims.renew(id, holder);
    const seen = new Map<string, Seen>();
    for (const claim of await claims.others(id, holder)) {
      const before = others.get(claim.key);
      const isSame = before?.claim.holder === claim.holder && before.claim.beat === claim.beat;
      const ticks = isSame ? before.ticks + 1 : 0;
      if (ticks < STALE_TICKS) seen.set(claim.key, { claim, ticks });
      else await claims.drop(id, claim);
    }
    others = seen;
  };
  let isTicking = false;
  // That the store does not answer is noticed when the next document is added. While it is slow, time does not count: ticks
  // that ran one right after the other afterwards would give up the claims of runs that had no time to renew them.
  const timer = setInterval(() => {
    if (isTicking) return;
    isTicking = true;
    ticking = tick()
      .catch(() => {})
      .finally(() => {
        isTicking = false;
      });
  }, TICK_MS);
  timer.unref();

  const judge = async (keys: readonly string[]): Promise<Settled> => {
    // Claims before documents: one that is added in between is seen as known.
    const current = new Map((await claims.others(id, holder)).map((claim) => [claim.key, claim]));
    const known = await store.knownDocuments(generation.collection, keys);
    const rest = keys.filter((key) => !known.has(key));
    return {
      known,
      failed: new Map(
        rest.flatMap((key): [string, string][] => {
          const reason = current.get(key)?.failure;
          return reason === undefined ? [] : [[key, reason]];
        }),
      ),
      free: new Set(rest.filter((key) => !current.has(key))),
    };
  };
  const takeOver = async (key: string, signal: AbortSignal | undefined): Promise<boolean> => {
    for (let first: Claim | undefined; ; ) {
      if ((await claims.take(id, key, holder)) === "own") return true;
      const current = (await claims.others(id, holder)).find((claim) => claim.key === key);
      first ??= current;
      const isAlive =
        current !== undefined && (current.holder !== first?.holder || current.beat !== first.beat);
      if (isAlive) return false;
      // Ours ticks as well: one that is not renewed is dropped there.
      await sleep(TICK_MS, undefined, { signal });
    }
  };
  return {
    holder,
    takeOver,
    take: (key) => claims.take(id, key, holder),
    fail: (key, reason) => claims.fail(id, key, holder, reason),
    settle: async (keys, signal) => {
      for (;;) {
        const settled = await judge(keys);
        if (settled.known.size + settled.failed.size + settled.free.size > 0) return settled;
        await sleep(TICK_MS, undefined, { signal });
      }
    },
    close: async () => {
      clearInterval(timer);
      await ticking;
      // Where the store fails, the work has failed with it, and says so; the claims become stale.
      await claims.release(id, holder).catch(() => {});
    },
  };
};
