import type { CorpusDocument } from "./knowledge-base.ts";

/** Above this, a document has many passages, as a manual has: a million files of one passage each would measure files. */
const SINGLE_PASSAGES = 200_000;
const PASSAGES_OF_MANUAL = 20;

/** Passages of about the length of an abstract, made of sentences of real ones, the same each time. */
export function* manyDocuments(from: readonly CorpusDocument[], passages: number): Generator<CorpusDocument> {
  const sentences = from.flatMap(({ text }) => text.split(/(?<=[.!?]) /));
  let state = 12_345;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state % below;
  };
  const passage = (): string =>
    Array.from({ length: 8 }, () => sentences[next(sentences.length)] ?? "").join(" ");
  const each = passages > SINGLE_PASSAGES ? PASSAGES_OF_MANUAL : 1;
  for (let at = 0; at * each < passages; at++)
    yield {
      id: `d${at}`,
      title: from[at % from.length]?.title ?? "",
      text: passage(),
      kind: "prose",
      more: Array.from({ length: Math.min(each, passages - at * each) - 1 }, passage),
    };
}

/** An even 100 requests a second, at most ten at the same time. Times are from when a request was due. */
export const runLoad = async (
  seconds: number,
  work: (at: number) => Promise<unknown>,
): Promise<readonly number[]> => {
  const times: number[] = [];
  const running = new Set<Promise<void>>();
  const started = performance.now();
  for (let at = 0; at < seconds * 100; at++) {
    const due = started + at * 10;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((go) => setTimeout(go, wait));
    while (running.size >= 10) await Promise.race(running);
    const one = (async () => {
      await work(at);
      times.push(performance.now() - Math.max(due, started));
    })().finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
  return times;
};

/** One after the other, without a pause. */
export const runSingly = async (
  count: number,
  work: (at: number) => Promise<unknown>,
): Promise<readonly number[]> => {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const from = performance.now();
    await work(at);
    times.push(performance.now() - from);
  }
  return times;
};

const DISTINCT = 10_000;

/** Ranks by Zipf's law, s = 1, over 10,000, the same each time. */
export const zipfRanks = (count: number): readonly number[] => {
  const sums: number[] = [];
  for (let rank = 1; rank <= DISTINCT; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank);
  const total = sums.at(-1) ?? 1;
  let state = 99;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const wanted = (state / 2 ** 32) * total;
    let [low, high] = [0, DISTINCT - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  });
};
