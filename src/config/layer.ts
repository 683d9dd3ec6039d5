/** Where a value came from. `detail` is the flag, the variable, `file:line`, or the rule behind a default. */
export interface Origin {
  readonly source: "cli" | "env" | "file" | "user" | "default";
  readonly detail: string;
}

export interface Setting {
  readonly value: unknown;
  readonly origin: Origin;
}

/** Problems that are shown, and worth explaining: a file may have tens of thousands of them. */
export const MAX_SHOWN = 20;

/** One source of values: the valid values by key, and the problems of the others. */
export interface Layer {
  readonly settings: ReadonlyMap<string, Setting>;
  readonly problems: readonly string[];
}

export const showOrigin = ({ source, detail }: Origin): string => {
  if (source === "file" || source === "user") return detail;
  return detail === "" ? source : `${source}: ${detail}`;
};
