import { checkValue, parseText } from "./check-value.ts";
import type { Layer, Setting } from "./layer.ts";
import { ENTRIES } from "./sections.ts";
import { unknownPath } from "./suggest.ts";

type OverrideValue = string | number | boolean | readonly string[];

/** Text is parsed like an environment variable. `flag` names a flag of its own, where it was not `--set`. */
type Override = OverrideValue | { readonly flag: string; readonly value: OverrideValue };
export type Overrides = Readonly<Record<string, Override>>;

const unpack = (override: Override): { flag: string; value: OverrideValue } =>
  typeof override === "object" && "flag" in override ? override : { flag: "--set", value: override };

export const readOverrides = (overrides: Overrides): Layer => {
  const settings = new Map<string, Setting>();
  const problems: string[] = [];
  for (const [key, override] of Object.entries(overrides)) {
    const { flag, value } = unpack(override);
    const entry = ENTRIES.get(key);
    if (entry === undefined) {
      problems.push(`${flag}: ${unknownPath("key", key)}`);
      continue;
    }
    const checked =
      typeof value === "string" ? parseText(entry.option, value) : checkValue(entry.option, value);
    if ("value" in checked)
      settings.set(key, { value: checked.value, origin: { source: "cli", detail: flag } });
    else problems.push(`${flag}: ${key}: ${checked.complaint}`);
  }
  return { settings, problems };
};
