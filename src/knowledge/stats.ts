import { plural } from "../base/text.ts";
import type { Stats } from "./api/contract.ts";
import type { Collection, EvalScores, Generation } from "./store/contract.ts";

const scoresOf = ({
  questions,
  recall,
  mrr,
  ndcg,
  faithfulness,
  refusals,
  p95Ms,
}: EvalScores): Readonly<Record<string, number>> => ({
  questions,
  recall,
  mrr,
  ndcg,
  faithfulness,
  ...(refusals === null ? {} : { refusals }),
  p95_ms: p95Ms,
});

const currentOf = (
  { generations, active, pinned }: Collection,
  version: string | undefined,
): Generation | undefined => generations.find((one) => one.version === (version ?? pinned ?? active));

/** A collection is well if its current version has documents, all of them, and vectors that this program can compare. */
const healthOf = (
  generations: readonly Generation[],
  embedderId: string,
): Pick<Stats, "health" | "problems"> => {
  if (generations.every(({ chunks }) => chunks === 0)) return { health: "empty" };
  const problems = generations.flatMap(({ collection, version, failures, embedder }) => [
    ...(failures === 0
      ? []
      : [
          `${collection} ${version}: ${plural(failures, "document")} could not be read (llmc kb sync names them)`,
        ]),
    ...(embedder === embedderId
      ? []
      : [`${collection} ${version}: made by another embedder (llmc kb sync makes a version with this one)`]),
  ]);
  return problems.length === 0 ? { health: "healthy" } : { health: "degraded", problems };
};

/** Of one collection or of several together; scores are those of one. */
export const statsOf = (
  collections: readonly Collection[],
  version: string | undefined,
  embedderId: string,
): Stats => {
  const current = collections.flatMap((collection) => currentOf(collection, version) ?? []);
  const sum = (value: (generation: Generation) => number): number =>
    current.reduce((total, generation) => total + value(generation), 0);
  const embedders = new Set(current.map(({ embedder }) => embedder));
  const [only] = current;
  const scores = current.length === 1 && only?.scores !== undefined ? scoresOf(only.scores) : undefined;
  const name = ({ collection, version: label }: Generation): string =>
    collections.length === 1 ? label : `${collection}@${label}`;
  return {
    size: {
      documents: sum(({ documents }) => documents),
      chunks: sum(({ chunks }) => chunks),
      bytes: sum(({ bytes }) => bytes),
    },
    versions: collections.flatMap(({ generations }) =>
      generations.filter(({ state }) => state === "sealed").map(name),
    ),
    embedder_version: embedders.size === 0 ? embedderId : [...embedders].join(", "),
    ...healthOf(current, embedderId),
    ...(scores === undefined ? {} : { eval_scores: scores }),
  };
};
