import { baseName } from "../../base/paths.ts";
import { summarizeAnyProgram } from "./any-program.ts";
import { cat } from "./cat.ts";
import type { Enriched, Enricher, EnrichLimits, Ran } from "./contract.ts";
import { find } from "./find.ts";
import { git } from "./git.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { settle } from "./settle.ts";
import { summarizeUnknownTests, tests } from "./tests.ts";
import { tree } from "./tree.ts";

/** Every program whose output can be summarized. */
const enrichers: readonly Enricher[] = [grep, cat, find, ls, tree, git, tests];

/** Enrichers know programs without the version in their names: python3.11. */
export const enricherFor = ([program]: Ran["argv"]): Enricher | undefined => {
  const name = baseName(program);
  const bare = name.replace(/[-.]?\d{1,9}(?:\.\d{1,9}){0,3}$/, "");
  return enrichers.find(({ programs }) => programs.includes(name) || programs.includes(bare));
};

/** What a model needs first of an output, or undefined: then the output passes through as it is. Never throws. */
export const enrich = (ran: Ran, limits: EnrichLimits): Enriched | undefined => {
  const attempt = (
    summarize: (ran: Ran, limits: EnrichLimits) => Enriched | undefined,
  ): Enriched | undefined => {
    try {
      const summary = summarize(ran, limits);
      return summary === undefined ? undefined : settle(ran, summary, limits);
    } catch {
      // Output that an enricher cannot read is shown like that of any other program.
      return undefined;
    }
  };
  const enricher = enricherFor(ran.argv);
  return (
    attempt(enricher === undefined ? summarizeUnknownTests : enricher.enrich) ?? attempt(summarizeAnyProgram)
  );
};
