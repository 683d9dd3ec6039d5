import type { Figures } from "../../bench/lib/report.ts";
import { WORKFLOWS } from "../../bench/lib/workflow-steps.ts";

interface Spent {
  readonly ours: number;
  readonly commander: number | undefined;
  readonly official: number | undefined;
}

const tokensOf = (figures: Figures, id: string, server: string): number | undefined => {
  const tokens = figures["tokens"];
  const spent = typeof tokens === "object" ? tokens?.[id] : undefined;
  const value = typeof spent === "object" ? spent?.[server] : undefined;
  return typeof value === "number" ? value : undefined;
};

/** Workflows that count, as they were saved; those aside repeat one of them in another way. */
export const countedOf = (figures: Figures): ReadonlyMap<string, Spent> => {
  const counted = WORKFLOWS.filter(({ isAside }) => isAside !== true);
  return new Map(
    counted.map(({ id }) => {
      const ours = tokensOf(figures, id, "ours");
      if (ours === undefined) throw new Error(`${id} was not saved`);
      const [commander, official] = [tokensOf(figures, id, "commander"), tokensOf(figures, id, "official")];
      return [id, { ours, commander, official }] as const;
    }),
  );
};

export const totalsOf = (figures: Figures): { readonly ours: number; readonly commander: number } => {
  let [ours, commander] = [0, 0];
  for (const spent of countedOf(figures).values()) {
    ours += spent.ours;
    commander += spent.commander ?? 0;
  }
  return { ours, commander };
};
