import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Figures } from "../../bench/lib/report.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const RESULTS = join(ROOT, "bench", "results");

interface Saved {
  readonly run: Figures;
  readonly figures: Figures;
}

/** A line of the README's table of figures. */
export interface QuotedRow {
  readonly what: string;
  readonly ours: string;
  readonly against: string;
  readonly commit: string;
}

export const readResult = (commit: string): Readonly<Record<string, Saved>> =>
  JSON.parse(readFileSync(join(RESULTS, `${commit}.json`), "utf8"));

export const savedCommits = (): readonly string[] =>
  readdirSync(RESULTS).map((name) => name.replace(/\.json$/, ""));

/** A value by its names; a missing one fails the test that asks. */
export const numberAt = (figures: Figures, ...names: readonly string[]): number => {
  let value: Figures[string] | undefined = figures;
  for (const name of names) value = typeof value === "object" ? value?.[name] : undefined;
  if (typeof value !== "number") throw new Error(`there is no figure ${names.join(" / ")}`);
  return value;
};

export const quotedRows = (): readonly QuotedRow[] => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const table = readme.slice(readme.indexOf("| what | llmc | against | result file |"));
  return [...table.matchAll(/^\|(.+)\|(.+)\|(.*)\| `([0-9a-f]+)` \|$/gm)].map(
    ([, what = "", ours = "", against = "", commit = ""]) => ({
      what: what.trim(),
      ours: ours.trim(),
      against: against.trim(),
      commit,
    }),
  );
};
