/** Where a value came from. `detail` is the flag, the variable, `file:line`, or the rule behind a default. */
export interface Origin {
  readonly source: "cli" | "env" | "file" | "user" | "default";
  readonly detail: string;
}

export interface Setting {
  readonly value: unknown;
  readonly origin: Origin;
}

/** What one source says: its checked values by key, and what is wrong with the rest. */
export interface Layer {
  readonly settings: ReadonlyMap<string, Setting>;
  readonly problems: readonly string[];
}

export const showOrigin = ({ source, detail }: Origin): string => {
  if (source === "file" || source === "user") return detail;
  return detail === "" ? source : `${source}: ${detail}`;
};
