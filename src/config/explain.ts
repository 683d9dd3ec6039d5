import { LlmcError } from "../base/error.ts";
import { describeKind } from "./kind.ts";
import { showOrigin } from "./layer.ts";
import type { Loaded } from "./load.ts";
import { redactUserinfo } from "./redact.ts";
import { ENTRIES, type Entry, TABLES, type Table, valueAt } from "./sections.ts";
import { nearestKey, nearestTable, unknownName } from "./suggest.ts";
import { tomlInline } from "./toml-text.ts";

const explainEntry = (entry: Entry, loaded: Loaded): string => {
  const { key, option, variable } = entry;
  const origin = loaded.origins.get(key);
  const lines = [
    key,
    `  ${option.says}`,
    "",
    `  type      ${describeKind(option.kind)}`,
    `  default   ${tomlInline(option.default)}`,
    `  now       ${tomlInline(redactUserinfo(valueAt(loaded.config, key)))}${origin === undefined ? "" : ` (${showOrigin(origin)})`}`,
    `  variable  ${variable}`,
    `  flag      --set ${key}=VALUE`,
    `  changes   ${option.restart ? "wait for the next start" : "take effect at once"}`,
  ];
  if (option.planned) lines.push("  planned   accepted and checked, but not in force yet");
  if (option.noEffect)
    lines.push("  refused   written out, it stops the start: it has no effect in this version");
  const waits = loaded.waiting.find((one) => one.key === key);
  if (waits !== undefined)
    lines.push(`  waits     ${tomlInline(redactUserinfo(waits.asked))} in the file, for llmc trust`);
  return `${lines.join("\n")}\n`;
};

const tablesInside = (name: string): string[] =>
  TABLES.map(({ path }) => path).filter((path) => path.startsWith(`${name}.`));

const explainTable = (path: string, table: Table | undefined, loaded: Loaded): string => {
  const lines = [`[${path}]`];
  if (table !== undefined) lines.push(`  ${table.says}`);
  for (const { key, name, option } of table?.entries ?? []) {
    lines.push(
      "",
      `  ${name} = ${tomlInline(redactUserinfo(valueAt(loaded.config, key)))}`,
      `    ${option.says}${option.planned ? " (not in force yet)" : ""}`,
    );
  }
  const nested = tablesInside(path);
  if (nested.length > 0) lines.push("", `  Tables inside: ${nested.join(", ")}`);
  return `${lines.join("\n")}\n`;
};

/** Explains a key, or all keys of a table in brief. */
export const explainKey = (name: string, loaded: Loaded): string => {
  const entry = ENTRIES.get(name);
  if (entry !== undefined) return explainEntry(entry, loaded);
  const table = TABLES.find(({ path }) => path === name);
  if (table !== undefined || tablesInside(name).length > 0) return explainTable(name, table, loaded);
  throw new LlmcError("invalid_args", unknownName("key", name, nearestKey(name) ?? nearestTable(name)));
};
