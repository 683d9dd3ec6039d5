import type { LlmcError } from "../base/error.ts";
import { plural } from "../base/text.ts";

export interface Scores {
  readonly questions: number;
  readonly recall: number;
  readonly mrr: number;
  readonly ndcg: number;
  readonly faithfulness: number;
  readonly refusals: number | null;
  readonly p95Ms: number;
}

export interface Report {
  readonly collection: string;
  readonly version: string;
  readonly dryRun: boolean;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
  readonly failed: readonly { readonly uri: string; readonly reason: string }[];
  readonly warned: readonly { readonly uri: string; readonly warnings: readonly string[] }[];
  readonly unread: readonly {
    readonly source: string;
    readonly code: LlmcError["code"];
    readonly message: string;
    readonly hint: string | undefined;
  }[];
}

interface Version {
  readonly version: string;
  readonly state: "open" | "complete" | "sealed";
  readonly sources: readonly string[];
  readonly documents: number;
  readonly chunks: number;
  readonly failures: number;
  readonly scores: Scores | undefined;
  readonly isImported: boolean;
}

export interface Collection {
  readonly name: string;
  readonly product: string;
  readonly active: string | undefined;
  readonly pinned: string | undefined;
  readonly generations: readonly Version[];
  readonly unreadable: number;
}

/** Names shown of each kind of change. */
const MAX_NAMES = 20;

const listNames = (mark: string, names: readonly string[]): readonly string[] => [
  ...names.slice(0, MAX_NAMES).map((name) => `${mark} ${name}`),
  ...(names.length > MAX_NAMES ? [`${mark} … ${names.length - MAX_NAMES} more`] : []),
];

export const renderReport = (report: Report): string => {
  const { collection, version, dryRun, added, changed, removed, unchanged, failed, warned, unread } = report;
  const counts = `${added.length} added, ${changed.length} changed, ${removed.length} removed, ${unchanged} unchanged, ${failed.length} failed${warned.length > 0 ? `, ${warned.length} not read in full` : ""}`;
  const isNothing = unread.length > 0 && added.length + changed.length + removed.length + unchanged === 0;
  return [
    `${collection} ${version}${dryRun ? " (dry run)" : ""}: ${counts}`,
    ...(dryRun ? [...listNames("+", added), ...listNames("~", changed), ...listNames("-", removed)] : []),
    ...failed.slice(0, MAX_NAMES).map(({ uri, reason }) => `! ${uri}: ${reason}`),
    ...(failed.length > MAX_NAMES ? [`! … ${failed.length - MAX_NAMES} more`] : []),
    ...listNames(
      "?",
      warned.map(({ uri, warnings }) => `${uri}: ${warnings.join(" ")}`),
    ),
    ...unread.map(
      ({ source, message, hint }) => `! ${source}: ${message}${hint === undefined ? "" : ` ${hint}`}`,
    ),
    ...(dryRun || isNothing ? [] : [`next: llmc kb promote ${collection}`]),
  ].join("\n");
};

export interface Forgotten {
  readonly collection: string;
  readonly version: string;
  readonly removed: readonly string[];
  /** Documents that are left. */
  readonly left: number;
}

export const renderForgotten = ({ collection, version, removed, left }: Forgotten): string => {
  const next =
    left === 0
      ? `none is left; next: llmc kb add ${collection} SOURCE, or llmc kb rm ${collection}`
      : `next: llmc kb promote ${collection}`;
  return `${collection} ${version}: ${plural(removed.length, "document")} removed; ${next}`;
};

export const renderScores = ({
  questions,
  recall,
  mrr,
  ndcg,
  faithfulness,
  refusals,
  p95Ms,
}: Scores): string =>
  `${plural(questions, "question")}: recall@10 ${recall}, MRR ${mrr}, nDCG@10 ${ndcg}, faithfulness ${faithfulness}${refusals === null ? "" : `, refusals ${refusals}`}, p95 ${p95Ms} ms`;

const signed = (value: number): string => `${value < 0 ? "" : "+"}${Math.round(value * 10_000) / 10_000}`;

/** What changed against the active version, which was asked the same questions. */
export const renderDrift = (
  scores: Scores,
  active: { readonly version: string; readonly scores: Scores } | undefined,
): string =>
  active === undefined
    ? ""
    : `\nagainst ${active.version}: recall@10 ${signed(scores.recall - active.scores.recall)}, nDCG@10 ${signed(scores.ndcg - active.scores.ndcg)}, faithfulness ${signed(scores.faithfulness - active.scores.faithfulness)}`;

const STATES = { open: "unfinished", complete: "not promoted", sealed: "" } as const;

const renderVersion = ({ name, active, pinned }: Collection, one: Version): string => {
  const marks = [
    ...(one.version === active ? ["active"] : []),
    ...(one.version === pinned ? ["pinned"] : []),
    ...(one.isImported ? ["imported"] : []),
    ...(STATES[one.state] === "" ? [] : [STATES[one.state]]),
  ];
  const failed = one.failures === 0 ? "" : `, ${one.failures} failed`;
  const scores = one.scores === undefined ? "" : `; nDCG@10 ${one.scores.ndcg}`;
  return `${name} ${one.version}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}: ${plural(one.documents, "document")}, ${plural(one.chunks, "chunk")}${failed}${scores}`;
};

/** Of the version that questions get, or else of the newest; and what versions that are being made have besides. */
const sourcesOf = ({ generations, active, pinned }: Collection): readonly string[] => {
  const current = generations.find(({ version }) => version === (pinned ?? active)) ?? generations[0];
  const sources = current?.sources ?? [];
  const added = generations
    .filter(({ state }) => state !== "sealed")
    .flatMap((one) =>
      one.sources.filter((source) => !sources.includes(source)).map((source) => `${source} (${one.version})`),
    );
  return [...sources, ...added];
};

export const renderCollections = (collections: readonly Collection[]): string =>
  collections.length === 0
    ? "no knowledge bases; llmc kb create NAME makes one"
    : collections
        .flatMap((one) => [
          ...(one.generations.length + one.unreadable === 0 ? [`${one.name}: empty`] : []),
          ...one.generations.map((version) => renderVersion(one, version)),
          ...(one.unreadable === 0
            ? []
            : [`${one.name}: ${plural(one.unreadable, "version")} that cannot be read`]),
          ...listNames("  from", sourcesOf(one)),
        ])
        .join("\n");
