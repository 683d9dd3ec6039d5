import type { ListKind } from "../core/refresh.ts";
import type { LinkClient } from "./link-client.ts";
import type { Snapshot } from "./snapshot.ts";
import type { WireEvent } from "./wire.ts";

interface EventParts {
  readonly link: () => LinkClient;
  /** The last change of which earlier fronts notified the client: `generation.event`, or empty. */
  readonly seen: () => string;
  /** The client has been notified up to here. */
  readonly onSeen: (text: string) => void;
  readonly isCurrent: (generation: number) => boolean;
}

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 5000;

const LISTS: Readonly<Record<ListKind, (snapshot: Snapshot) => unknown>> = {
  tools: ({ tools }) => tools ?? null,
  prompts: ({ prompts }) => prompts,
  resources: ({ templates }) => templates,
};

const KINDS: readonly ListKind[] = ["tools", "prompts", "resources"];

const differences = (before: Snapshot, after: Snapshot): readonly ListKind[] =>
  KINDS.filter((kind) => JSON.stringify(LISTS[kind](before)) !== JSON.stringify(LISTS[kind](after)));

/** What the front knows of the core without asking, and who wants to hear when it changes. */
export const createFrontEvents = ({ link, seen, onSeen, isCurrent }: EventParts) => {
  const listListeners = new Set<(kind: ListKind) => void>();
  const resourceListeners = new Set<(uri: string) => void>();
  const { promise: known, resolve: becomeKnown } = Promise.withResolvers<void>();
  let snapshot: Snapshot | undefined;
  let reported = "";

  const changed = (kinds: readonly ListKind[]): void => {
    for (const kind of kinds) for (const listener of listListeners) listener(kind);
  };
  const learn = (next: Snapshot): readonly ListKind[] => {
    const before = snapshot;
    snapshot = next;
    becomeKnown();
    return before === undefined ? [] : differences(before, next);
  };

  const follow = async (generation: number): Promise<void> => {
    const [ofGeneration, after] = (reported || seen()).split(".");
    const isSame = Number(ofGeneration) === generation && after !== undefined;
    // The first front has not notified its client of anything yet: it compares with its own snapshot.
    const isFirst = reported === "" && seen() === "";
    let fresh: readonly ListKind[] = [];
    let isFirstSnapshot = true;
    await link().listen<WireEvent>(`/v1/events${isSame ? `?after=${after}` : ""}`, (event) => {
      if ("snapshot" in event) {
        const differing = learn(event.snapshot as Snapshot);
        // Later ones come with an event of their own.
        if (isFirstSnapshot) fresh = differing;
        isFirstSnapshot = false;
        return;
      }
      if ("reset" in event) changed(isFirst || reported !== "" ? fresh : KINDS);
      else if ("list" in event) changed([event.list]);
      else for (const listener of resourceListeners) listener(event.resource);
      reported = `${generation}.${event.seq}`;
      onSeen(reported);
    });
  };

  return {
    known,
    /** From the supervisor: what the last core said. */
    learn,
    snapshot: (): Snapshot => {
      if (snapshot === undefined) throw new Error("nothing is known yet");
      return snapshot;
    },
    /** Follows a core until another one is there. */
    run: async (generation: number): Promise<void> => {
      let delayMs = FIRST_RETRY_MS;
      while (isCurrent(generation)) {
        const before = performance.now();
        await follow(generation).catch(() => {});
        if (performance.now() - before > MAX_RETRY_MS) delayMs = FIRST_RETRY_MS;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        delayMs = Math.min(MAX_RETRY_MS, delayMs * 2);
      }
    },
    onListChanged: (listener: (kind: ListKind) => void): (() => void) => {
      listListeners.add(listener);
      return () => listListeners.delete(listener);
    },
    onResourceUpdated: (listener: (uri: string) => void): (() => void) => {
      resourceListeners.add(listener);
      return () => resourceListeners.delete(listener);
    },
  };
};
