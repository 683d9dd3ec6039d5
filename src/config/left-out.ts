import type { Loaded } from "./load.ts";
import { ENTRIES, valueAt } from "./sections.ts";

/**
 * Entries of a default list of permissions that a list written somewhere leaves out: it replaces the default rather than
 * adding to it, which is easily overlooked.
 */
export const leftOut = (loaded: Loaded, key: string): readonly string[] => {
  const option = ENTRIES.get(key)?.option;
  const source = loaded.origins.get(key)?.source ?? "default";
  if (option?.widens !== "additions" || source === "default" || !Array.isArray(option.default)) return [];
  const value = valueAt(loaded.config, key);
  return option.default.map(String).filter((item) => !Array.isArray(value) || !value.includes(item));
};
