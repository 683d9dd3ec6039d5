import { ANSWER_FLOOR, confidenceOf, logitOf, signalsOf } from "../../src/knowledge/answer/confidence.ts";
import type { RankedPassage } from "../../src/knowledge/search/passage-index.ts";
import { type OpenBase, openBase } from "./knowledge-base.ts";
import { generationOf } from "./knowledge-quality.ts";
import type { QuestionSet } from "./knowledge-sets.ts";
import type { Figures, Table } from "./report.ts";
import { round } from "./stats.ts";

const rankedFor = async (
  base: OpenBase,
  queries: readonly string[],
): Promise<readonly (readonly RankedPassage[])[]> => {
  const generation = await generationOf(base);
  const found: (readonly RankedPassage[])[] = [];
  for (const query of queries) found.push((await base.engine.search(generation, query, 10)).ranked);
  return found;
};

/** Answerable questions, those of other sets, and those whose documents were removed. */
interface Groups<T> {
  readonly answerable: readonly T[];
  readonly foreign: readonly T[];
  readonly removed: readonly T[];
}

const inGroups = <T, U>(groups: Groups<T>, to: (values: readonly T[]) => readonly U[]): Groups<U> => ({
  answerable: to(groups.answerable),
  foreign: to(groups.foreign),
  removed: to(groups.removed),
});

type Vector = readonly number[];

const dot = (weights: Vector, values: Vector): number =>
  weights.reduce((sum, weight, at) => sum + weight * (values[at] ?? 0), 0);

const ROUNDS = 4000;
const RATE = 0.5;

/** Logistic regression by gradient descent over standardised values; the first value is 1. */
const fitModel = (examples: readonly { readonly values: Vector; readonly isAnswered: boolean }[]): Vector => {
  const answered = examples.filter(({ isAnswered }) => isAnswered).length;
  let weights: Vector = (examples[0]?.values ?? []).map(() => 0);
  for (let at = 0; at < ROUNDS; at++) {
    const gradient = weights.map(() => 0);
    for (const { values, isAnswered } of examples) {
      const p = 1 / (1 + Math.exp(-dot(weights, values)));
      // Both sides count the same, however many questions each of them has.
      const share = isAnswered ? answered : examples.length - answered;
      const error = ((isAnswered ? 1 : 0) - p) / (2 * share);
      values.forEach((value, column) => {
        gradient[column] = (gradient[column] ?? 0) + error * value;
      });
    }
    weights = weights.map((weight, column) => weight + RATE * (gradient[column] ?? 0));
  }
  return weights;
};

/** Of answerable questions, so many may be refused where the floor is chosen. */
const MAX_REFUSED = 0.07;

const half =
  <T>(which: 0 | 1) =>
  (values: readonly T[]): readonly T[] =>
    values.filter((_, at) => at % 2 === which);

const share = (values: readonly number[], floor: number): number =>
  round(values.filter((one) => one < floor).length / Math.max(1, values.length), 3);

/** The product's signals, fitted on every other question, with a floor that is chosen there: told of the other half. */
const heldOut = (groups: Groups<readonly RankedPassage[]>): Groups<number> & { readonly floor: number } => {
  const all = inGroups(groups, (values) => values.map((ranked) => Object.values(signalsOf(ranked))));
  const known = inGroups(all, half<Vector>(0));
  const examples = [...known.answerable, ...known.foreign, ...known.removed];
  const columns = examples[0] ?? [];
  const means = columns.map(
    (_, at) => examples.reduce((sum, one) => sum + (one[at] ?? 0), 0) / examples.length,
  );
  const widths = columns.map((_, at) =>
    Math.sqrt(
      examples.reduce((sum, one) => sum + ((one[at] ?? 0) - (means[at] ?? 0)) ** 2, 0) / examples.length,
    ),
  );
  const standard = (one: Vector): Vector => [
    1,
    ...one.map((value, at) => (value - (means[at] ?? 0)) / (widths[at] || 1)),
  ];
  const weights = fitModel([
    ...known.answerable.map((one) => ({ values: standard(one), isAnswered: true })),
    ...[...known.foreign, ...known.removed].map((one) => ({ values: standard(one), isAnswered: false })),
  ]);
  const scores = (values: readonly Vector[]): readonly number[] =>
    values.map((one) => dot(weights, standard(one)));
  const sorted = scores(known.answerable).toSorted((a, b) => a - b);
  return {
    ...inGroups(inGroups(all, half<Vector>(1)), scores),
    floor: sorted[Math.floor(MAX_REFUSED * sorted.length)] ?? 0,
  };
};

interface Refused {
  readonly answerable: number;
  readonly other_sets: number;
  readonly removed: number;
}

const FLOORS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** How many questions of each group get "not in this knowledge base", by the floor, and with a model that has not seen them. */
export const runUnanswerable = async (
  set: QuestionSet,
  base: OpenBase,
  others: readonly string[],
): Promise<{ readonly table: Table; readonly figures: Figures; readonly shipped: Refused }> => {
  const gold = new Set(set.questions.flatMap((one) => [...one.gold]));
  const without = await openBase(set.documents.filter(({ id }) => !gold.has(id)));
  const queries = set.questions.map(({ query }) => query);
  const ranked = {
    answerable: await rankedFor(base, queries),
    foreign: await rankedFor(base, others),
    removed: await rankedFor(without, queries),
  };
  await without.close();
  const shipped = inGroups(ranked, (values) => values.map((one) => confidenceOf(logitOf(one))));
  const rowOf = (groups: Groups<number>, floor: number): readonly number[] =>
    [groups.answerable, groups.foreign, groups.removed].map((values) => share(values, floor));
  const other = heldOut(ranked);
  const toFigures = ([answerable = 0, foreign = 0, removed = 0]: readonly number[]) => ({
    answerable,
    other_sets: foreign,
    removed,
  });
  const atShipped: Refused = toFigures(rowOf(shipped, ANSWER_FLOOR));
  return {
    shipped: atShipped,
    table: {
      head: [`${set.name}: refused below`, "answerable", "of other sets", "documents removed"],
      rows: [
        ...FLOORS.map((floor) => [floor, ...rowOf(shipped, floor)]),
        ["fitted on the other half", ...rowOf(other, other.floor)],
      ],
    },
    figures: {
      shipped: { ...atShipped },
      held_out: toFigures(rowOf(other, other.floor)),
      curve: Object.fromEntries(FLOORS.map((floor) => [String(floor), toFigures(rowOf(shipped, floor))])),
    },
  };
};
