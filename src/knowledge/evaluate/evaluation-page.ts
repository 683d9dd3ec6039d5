import { escapeHtml } from "../../base/text.ts";
import { ANSWER_FLOOR, confidenceOf } from "../answer/confidence.ts";
import type { Evaluation, Outcome } from "./evaluate.ts";

const [WIDTH, HEIGHT, MARGIN] = [420, 260, 40];

type Point = readonly [x: number, y: number];

/** A curve in a unit square, with its axes. */
const plot = (title: string, xName: string, yName: string, curves: readonly (readonly Point[])[]): string => {
  const x = (value: number): number => MARGIN + value * (WIDTH - 2 * MARGIN);
  const y = (value: number): number => HEIGHT - MARGIN - value * (HEIGHT - 2 * MARGIN);
  const lines = curves.map(
    (points, at) =>
      `<polyline fill="none" stroke="${at === 0 ? "#06c" : "#c60"}" stroke-width="2" points="${points
        .map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`)
        .join(" ")}"/>`,
  );
  return `<figure><figcaption>${escapeHtml(title)}</figcaption><svg width="${WIDTH}" height="${HEIGHT}" role="img">
<path d="M${MARGIN},${MARGIN} V${HEIGHT - MARGIN} H${WIDTH - MARGIN}" fill="none" stroke="#888"/>
<text x="${WIDTH / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escapeHtml(xName)}</text>
<text x="14" y="${HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 ${HEIGHT / 2})">${escapeHtml(yName)}</text>
${lines.join("\n")}</svg></figure>`;
};

/** At each confidence: the share of questions at or above it. */
const survival = (confidences: readonly number[]): readonly Point[] =>
  Array.from({ length: 51 }, (_, at): Point => {
    const floor = at / 50;
    return [floor, confidences.filter((one) => one >= floor).length / Math.max(1, confidences.length)];
  });

const latencies = (outcomes: readonly Outcome[]): readonly Point[] => {
  const sorted = outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const longest = sorted.at(-1) ?? 1;
  return sorted.map((ms, at): Point => [(at + 1) / sorted.length, ms / Math.max(longest, 1e-9)]);
};

const SCORES = ["recall", "mrr", "ndcg", "faithfulness", "refusals", "p95Ms"] as const;

const signed = (value: number): string => `${value > 0 ? "+" : ""}${Math.round(value * 10_000) / 10_000}`;

/** What changed against the active version, with the same questions. */
const driftTable = ({ scores, active }: Evaluation): string => {
  if (active === undefined) return "";
  const rows = SCORES.flatMap((name) => {
    const [now, before] = [scores[name], active.scores[name]];
    if (now === null || before === null) return [];
    return [`<tr><td>${name}</td><td>${before}</td><td>${now}</td><td>${signed(now - before)}</td></tr>`];
  });
  return `<h2>Drift against ${escapeHtml(active.version)}, the active version</h2>
<table><tr><th></th><th>active</th><th>this</th><th>drift</th></tr>${rows.join("")}</table>`;
};

/** A page that needs nothing else: scores, curves, and the questions that were answered worst. */
export const renderEvaluation = (
  collection: string,
  evaluation: Evaluation & { readonly version: string },
): string => {
  const { version, scores, outcomes } = evaluation;
  const confidence = ({ logit }: Outcome): number => confidenceOf(logit, scores.calibration);
  const answerable = outcomes.filter(({ isAnswerable }) => isAnswerable);
  const others = outcomes.filter(({ isAnswerable }) => !isAnswerable);
  const worst = answerable.toSorted((a, b) => a.ndcg - b.ndcg).slice(0, 20);
  const rows = Object.entries(scores)
    .filter(([, value]) => typeof value === "number")
    .map(([name, value]) => `<tr><td>${name}</td><td>${value}</td></tr>`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(collection)} ${escapeHtml(version)}</title>
<style>body{font:15px/1.5 system-ui;margin:2em;max-width:60em}table{border-collapse:collapse}td{padding:.1em 1em .1em 0}figure{display:inline-block;margin:1em}</style>
<h1>${escapeHtml(collection)} ${escapeHtml(version)}</h1><table>${rows.join("")}</table>
${driftTable(evaluation)}
${plot("Questions that would be answered, by the least confidence asked for (blue: answerable, orange: not in the collection)", `confidence (answers begin at ${ANSWER_FLOOR})`, "share", [survival(answerable.map(confidence)), survival(others.map(confidence))])}
${plot(`Time of a question, as a share of the longest (p95 ${scores.p95Ms} ms)`, "share of questions", "time", [latencies(outcomes)])}
<h2>Answered worst</h2><ol>${worst.map((one) => `<li>nDCG ${one.ndcg.toFixed(2)}: ${escapeHtml(one.query)}</li>`).join("")}</ol></html>
`;
};
