import type { LlmcError } from "../base/error.ts";
import { evictionCandidate } from "./eviction-candidate.ts";

/** Something that runs on between two calls, because its client or its user is asked meanwhile. */
export interface SuspendedWork {
  readonly id: string;
  /** Whoever may take it up again. */
  readonly owner: string;
  /** Only so many of each principal are kept. */
  readonly principal: string;
  /** The request that started it: only the same request may resume it. */
  readonly request: string;
  stop(reason: unknown): void;
}

interface SuspendedParts {
  /** Of one principal, and of all. */
  readonly max: { readonly each: number; readonly inAll: number };
  readonly notWaiting: () => LlmcError;
  readonly otherRequest: () => LlmcError;
  readonly expired: LlmcError;
}

/** How long a client may take to answer. */
const SUSPENDED_MS = 600_000;

interface Entry<T> {
  readonly work: T;
  readonly principal: string;
  readonly timer: NodeJS.Timeout;
  /** No longer listens to its caller. */
  readonly forget: () => void;
}

/**
 * Each belongs to its owner and is resumed at most once; it ends if nobody resumes it, or when its caller gives it up.
 */
export const createSuspended = <T extends SuspendedWork>(parts: SuspendedParts) => {
  const entries = new Map<string, Entry<T>>();

  const takeOut = (id: string): T | undefined => {
    const entry = entries.get(id);
    clearTimeout(entry?.timer);
    entry?.forget();
    entries.delete(id);
    return entry?.work;
  };
  const end = (id: string, reason: unknown): void => takeOut(id)?.stop(reason);

  /** Nobody loses something because another has more. */
  const evict = (principal: string): void => {
    const { each, inAll } = parts.max;
    const own = [...entries].filter(([, entry]) => entry.principal === principal);
    const first = own.length > each ? own[0]?.[0] : undefined;
    const evicted = first ?? (entries.size > inAll ? evictionCandidate(entries) : undefined);
    if (evicted !== undefined) end(evicted, parts.expired);
  };

  return {
    keep: (work: T, givenUp: AbortSignal | undefined): void => {
      const { id, principal } = work;
      const giveUp = (): void => end(id, givenUp?.reason);
      entries.set(id, {
        work,
        principal,
        timer: setTimeout(() => end(id, parts.expired), SUSPENDED_MS).unref(),
        forget: () => givenUp?.removeEventListener("abort", giveUp),
      });
      givenUp?.addEventListener("abort", giveUp, { once: true });
      if (givenUp?.aborted) giveUp();
      evict(principal);
    },
    take: (id: unknown, owner: string, request: string): T => {
      const work = typeof id === "string" ? entries.get(id)?.work : undefined;
      if (work === undefined || work.owner !== owner) throw parts.notWaiting();
      // What is recorded as called has to be what runs.
      if (work.request !== request) throw parts.otherRequest();
      takeOut(work.id);
      return work;
    },
    endAll: (owner: string, reason: unknown): void => {
      for (const [id, { work }] of [...entries]) if (work.owner === owner) end(id, reason);
    },
    /** Nothing is waited for any more; what is kept ends with its process. */
    close: (): void => {
      for (const id of [...entries.keys()]) takeOut(id);
    },
  };
};
