import { LlmcError } from "../base/error.ts";
import { nearest } from "../base/text.ts";
import { describeKind } from "./kind.ts";
import { showOrigin } from "./layer.ts";
import type { Loaded } from "./load.ts";
import { redactUserinfo } from "./redact.ts";
import { ENTRIES, type Entry, TABLES, type Table, valueAt } from "./sections.ts";
import { nearestKey, nearestTable, unknownName } from "./suggest.ts";
import { tomlInline } from "./toml-text.ts";

/** The value in force and where it comes from; a configuration with an error has none. */
const describeNow = (key: string, loaded: Loaded | undefined): string => {
  if (loaded === undefined) return "unknown, because the configuration has an error (llmc config validate)";
  const origin = loaded.origins.get(key);
  const value = tomlInline(redactUserinfo(valueAt(loaded.config, key)));
  return origin === undefined ? value : `${value} (${showOrigin(origin)})`;
};

const explainEntry = (entry: Entry, loaded: Loaded | undefined): string => {
  const { key, option, variable } = entry;
  const lines = [
    key,
    `  ${option.description}`,
    "",
    `  type      ${describeKind(option.kind)}`,
    `  default   ${tomlInline(option.default)}`,
    `  now       ${describeNow(key, loaded)}`,
    `  variable  ${variable}`,
    `  flag      --set ${key}=VALUE`,
    `  changes   ${option.restart ? "wait for the next start" : "take effect at once"}`,
  ];
  const waits = loaded?.waiting.find((one) => one.key === key);
  if (waits !== undefined)
    lines.push(`  waits     ${tomlInline(redactUserinfo(waits.asked))} in the file, for llmc trust`);
  return `${lines.join("\n")}\n`;
};

const tablesInside = (name: string): string[] =>
  TABLES.map(({ path }) => path).filter((path) => path.startsWith(`${name}.`));

const explainTable = (path: string, table: Table | undefined, loaded: Loaded | undefined): string => {
  const lines = [`[${path}]`];
  if (table !== undefined) lines.push(`  ${table.description}`);
  for (const { key, name, option } of table?.entries ?? []) {
    const value = loaded === undefined ? option.default : valueAt(loaded.config, key);
    lines.push("", `  ${name} = ${tomlInline(redactUserinfo(value))}`, `    ${option.description}`);
  }
  const nested = tablesInside(path);
  if (nested.length > 0) lines.push("", `  Tables inside: ${nested.join(", ")}`);
  return `${lines.join("\n")}\n`;
};

/** The same as `explainKey`, for programs: one object per key. */
export const explainAsJson = (name: string, loaded: Loaded | undefined) => {
  const table = TABLES.find(({ path }) => path === name);
  const entry = ENTRIES.get(name);
  const entries = entry === undefined ? (table?.entries ?? []) : [entry];
  if (entries.length === 0) explainKey(name, loaded);
  return entries.map(({ key, option, variable }) => ({
    key,
    description: option.description,
    type: describeKind(option.kind),
    default: option.default,
    now: loaded === undefined ? null : redactUserinfo(valueAt(loaded.config, key)),
    origin: loaded?.origins.get(key) ?? null,
    variable,
    restart: option.restart ?? false,
  }));
};

/** Explains a key, or all keys of a table in brief. Without `loaded`, what is in force is left out. */
export const explainKey = (name: string, loaded: Loaded | undefined): string => {
  const entry = ENTRIES.get(name);
  if (entry !== undefined) return explainEntry(entry, loaded);
  const table = TABLES.find(({ path }) => path === name);
  if (table !== undefined || tablesInside(name).length > 0) return explainTable(name, table, loaded);
  const candidates = [nearestKey(name), nearestTable(name)].filter((candidate) => candidate !== undefined);
  throw new LlmcError("invalid_args", unknownName("key", name, nearest(name, candidates) ?? candidates[0]));
};
