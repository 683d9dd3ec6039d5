import { LlmcError } from "../../base/error.ts";
import type { NearestRows } from "../../retrieve/embed/nearest-rows.ts";
import type { Collection, Generation, Store } from "../store/contract.ts";
import { createPassageIndex, type PassageIndex } from "./passage-index.ts";
import { openIndex } from "./stored-index.ts";

/** A generation that can be searched. */
export interface Loaded {
  readonly index: PassageIndex;
  /** Of at least half of the documents. */
  readonly language: string | undefined;
}

interface Entry {
  readonly generation: Generation;
  readonly loading: Promise<Loaded>;
  /** Undefined while it is being loaded. */
  loaded: Loaded | undefined;
  uses: number;
  usedMs: number;
}

interface LoadedOptions {
  readonly store: Store;
  readonly dimensions: number;
  readonly nearestRows: NearestRows | undefined;
  /** Names this process among those that share the store. */
  readonly holder: string;
  readonly now: () => number;
  /** Generations that nobody works on are given up beyond this; one alone may be larger. */
  readonly maxBytes: () => number;
  /** Told why an index that was built could not be saved. */
  readonly onIndexNotSaved?: ((error: unknown) => void) | undefined;
  /** What there is at the moment. */
  readonly collections: () => Promise<readonly Collection[]>;
}

/** One that is still offered is loaded again in a tenth of a second per 100,000 passages. */
const IDLE_MS = 10 * 60_000;
/** One that only calls ask for that name its version. */
const SUPERSEDED_IDLE_MS = 60_000;

/** A process that was killed keeps nothing from being collected for longer than this. */
const HOLD_MS = 5 * 60_000;
const RENEW_MS = 60_000;
const SWEEP_MS = 5000;

/** How long a question waits for a generation that was just promoted; then the one before it answers. */
const SWITCH_MS = 200;

const wasCollected = (version: string): LlmcError =>
  new LlmcError("busy", `Version ${version} was removed while it was loaded.`, {
    hint: "Ask again.",
    retryable: true,
  });

const within = (work: Promise<unknown>, ms: number): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    const finish = (): void => {
      clearTimeout(timer);
      done();
    };
    work.then(finish, finish);
  });

const usualOf = ({ active, pinned, generations }: Collection): Generation | undefined =>
  generations.find(({ version }) => version === (pinned ?? active));

interface State extends LoadedOptions {
  readonly entries: Map<number, Entry>;
  /** The generation that answered last, by collection. */
  readonly answered: Map<string, Generation>;
  /** Releases that are under way. */
  releasing: Promise<void>;
  renewedMs: number;
  builds: number;
}

const load = async (state: State, generation: Generation): Promise<Loaded> => {
  const { store, dimensions, nearestRows, holder, now } = state;
  // A release that is still under way would take this hold with it.
  await state.releasing.catch(() => {});
  await store.hold(generation.id, holder, now() + HOLD_MS);
  const builder = `${holder}:${++state.builds}`;
  const opened = await openIndex(store, generation, dimensions, builder, state.onIndexNotSaved);
  if (opened === undefined) throw wasCollected(generation.version);
  return {
    index: createPassageIndex(opened.arrays, dimensions, nearestRows),
    language: opened.language,
  };
};

const drop = (state: State, id: number): Promise<void> => {
  state.entries.delete(id);
  state.releasing = state.releasing.catch(() => {}).then(() => state.store.release(id, state.holder));
  return state.releasing;
};

const dropIfIdle = (state: State, id: number): void => {
  if (state.entries.get(id)?.uses === 0) void drop(state, id).catch(() => {});
};

const open = (state: State, generation: Generation): Entry => {
  const known = state.entries.get(generation.id);
  if (known !== undefined) return known;
  const entry: Entry = {
    generation,
    loading: load(state, generation),
    loaded: undefined,
    uses: 0,
    usedMs: state.now(),
  };
  state.entries.set(generation.id, entry);
  entry.loading.then(
    (loaded) => {
      entry.loaded = loaded;
    },
    () => drop(state, generation.id).catch(() => {}),
  );
  return entry;
};

const bytesOf = ({ loaded }: Entry): number => loaded?.index.bytes ?? 0;

/** Least recently used ones first; the last one stays, since it would be loaded again for the next question. */
const evict = (state: State): void => {
  let bytes = [...state.entries.values()].reduce((sum, entry) => sum + bytesOf(entry), 0);
  const byUse = [...state.entries.values()].sort((a, b) => a.usedMs - b.usedMs);
  for (const entry of byUse.slice(0, -1)) {
    if (bytes <= state.maxBytes()) return;
    if (entry.uses > 0 || entry.loaded === undefined) continue;
    bytes -= bytesOf(entry);
    dropIfIdle(state, entry.generation.id);
  }
};

const isLoaded = ({ entries }: State, id: number): boolean => entries.get(id)?.loaded !== undefined;

/** Once a generation answers, the one before it is only needed by what runs on it. */
const switchTo = (state: State, generation: Generation): void => {
  const before = state.answered.get(generation.collection);
  state.answered.set(generation.collection, generation);
  const entry = before === undefined ? undefined : state.entries.get(before.id);
  if (entry === undefined || before?.id === generation.id) return;
  entry.usedMs = 0;
  dropIfIdle(state, entry.generation.id);
};

const answering = async (
  state: State,
  usual: Generation,
  { generations }: Collection,
): Promise<Generation> => {
  const before = state.answered.get(usual.collection);
  const canAnswer =
    before !== undefined &&
    before.id < usual.id &&
    isLoaded(state, before.id) &&
    generations.some(({ id }) => id === before.id);
  if (canAnswer && !isLoaded(state, usual.id)) {
    const entry = open(state, usual);
    await within(entry.loading, SWITCH_MS);
    const isLoading = state.entries.get(usual.id) === entry && entry.loaded === undefined;
    if (isLoading && isLoaded(state, before.id)) return before;
  }
  switchTo(state, usual);
  return usual;
};

/** Loads what was promoted, and gives up what is not needed any more. */
const sweep = async (state: State): Promise<void> => {
  const { entries, answered, store, holder, now } = state;
  if (entries.size === 0) return;
  const usual = (await state.collections()).flatMap((collection) => usualOf(collection) ?? []);
  for (const generation of usual) {
    const before = answered.get(generation.collection);
    if (before === undefined || before.id === generation.id || !entries.has(before.id)) continue;
    open(state, generation).loading.then(
      () => switchTo(state, generation),
      () => {},
    );
  }
  const isUsual = new Set(usual.map(({ id }) => id));
  for (const { generation, usedMs, loaded } of [...entries.values()]) {
    const isReplaced =
      !isUsual.has(generation.id) && answered.get(generation.collection)?.id !== generation.id;
    const idleMs = isReplaced ? SUPERSEDED_IDLE_MS : IDLE_MS;
    if (loaded !== undefined && now() - usedMs >= idleMs) dropIfIdle(state, generation.id);
  }
  if (now() - state.renewedMs < RENEW_MS) return;
  state.renewedMs = now();
  for (const id of entries.keys()) await store.hold(id, holder, now() + HOLD_MS);
};

/**
 * Indexes of generations in memory; each is held in the store while it is loaded, so that it is not garbage-collected.
 */
export const createLoadedGenerations = (options: LoadedOptions) => {
  const state: State = {
    ...options,
    entries: new Map(),
    answered: new Map(),
    releasing: Promise.resolve(),
    renewedMs: options.now(),
    builds: 0,
  };
  const { entries, now } = state;
  const sweeping = setInterval(() => void sweep(state).catch(() => {}), SWEEP_MS);
  sweeping.unref();

  return {
    /**
     * The generation that answers for a collection whose usual one is this: the one before it, until this one is loaded, so
     * that a promotion keeps no question waiting. After a rollback the questions wait: the version was taken back.
     */
    answering: (usual: Generation, collection: Collection): Promise<Generation> =>
      answering(state, usual, collection),
    /** Works on a generation, which stays as it is until the work is done. */
    use: async <T>(generation: Generation, work: (loaded: Loaded) => T | Promise<T>): Promise<T> => {
      const entry = open(state, generation);
      entry.uses++;
      entry.usedMs = now();
      try {
        return await work(await entry.loading);
      } finally {
        entry.uses--;
        evict(state);
      }
    },
    /** Versions in memory, for tests and reports. */
    loaded: (): readonly string[] => [...entries.values()].map(({ generation }) => generation.version),
    sweep: (): Promise<void> => sweep(state),
    /** Gives up what nobody works on; a generation that was removed is not kept from being collected. */
    dropIdle: async (): Promise<void> => {
      // While one is released, another may be asked for again.
      for (const id of [...entries.keys()]) if (entries.get(id)?.uses === 0) await drop(state, id);
    },
    close: async (): Promise<void> => {
      clearInterval(sweeping);
      for (const id of [...entries.keys()]) await drop(state, id).catch(() => {});
    },
  };
};

export type LoadedGenerations = ReturnType<typeof createLoadedGenerations>;
