import type { WireEvent } from "./wire.ts";

/**
 * Changes that are kept for the next front. If there were more since the last one it passed on, it is told to reset.
 */
const MAX_KEPT = 256;

type Listener = (event: WireEvent) => void;
type Change = { readonly list: "tools" | "prompts" | "resources" } | { readonly resource: string };

/** Numbers what changes, so that the next front begins where the last one ended. */
export const createEventLog = () => {
  const kept: Extract<WireEvent, { seq: number }>[] = [];
  const listeners = new Set<Listener>();
  let seq = 0;
  return {
    add: (change: Change): void => {
      seq++;
      const event = { seq, ...change };
      kept.push(event);
      if (kept.length > MAX_KEPT) kept.shift();
      for (const listener of listeners) listener(event);
    },
    /** Goes to all current listeners and is not kept: later ones get the newest anyway. */
    broadcast: (event: WireEvent): void => {
      for (const listener of listeners) listener(event);
    },
    /** Everything after an event, then whatever follows; without a number, only what follows. */
    follow: (after: number | undefined, listener: Listener): (() => void) => {
      const first = kept[0]?.seq ?? seq + 1;
      if (after === undefined || after > seq || after < first - 1) listener({ seq, reset: true });
      else for (const event of kept) if (event.seq > after) listener(event);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

export type EventLog = ReturnType<typeof createEventLog>;
