import { type Origin, showOrigin } from "./layer.ts";
import { leftOut } from "./left-out.ts";
import type { Loaded } from "./load.ts";
import { isSilent } from "./log-settings.ts";
import { redactUserinfo } from "./redact.ts";
import { type Entry, TABLES, valueAt } from "./sections.ts";
import { tomlInline, tomlLines } from "./toml-text.ts";

interface ShowOptions {
  /** Adds the origin of each value as a comment. */
  readonly origin: boolean;
}

const UNSET: Origin = { source: "default", detail: "" };
/** Comments line up behind values up to this width; longer lines carry theirs after two spaces. */
const COMMENT_COLUMN = 56;

const shownValue = (loaded: Loaded, key: string): unknown => redactUserinfo(valueAt(loaded.config, key));

const showEntry = (loaded: Loaded, entry: Entry, nameWidth: number, { origin }: ShowOptions): string[] => {
  const value = isSilent(loaded, entry.key) ? undefined : tomlLines(shownValue(loaded, entry.key));
  const head =
    value === undefined ? `# ${entry.name} is left out` : `${entry.name.padEnd(nameWidth)} = ${value[0]}`;
  const rest = value?.slice(1) ?? [];
  if (!origin) return [head, ...rest];
  const from = showOrigin(loaded.origins.get(entry.key) ?? UNSET);
  const waits = loaded.waiting.find(({ key }) => key === entry.key);
  const missing = leftOut(loaded, entry.key);
  const notes = [
    ...(waits === undefined
      ? []
      : [`; ${tomlInline(redactUserinfo(waits.asked))} in the file waits for llmc trust`]),
    ...(missing.length === 0 ? [] : [`; replaces the default, without ${missing.join(", ")}`]),
  ];
  return [`${head.padEnd(COMMENT_COLUMN)}  # ${from}${notes.join("")}`, ...rest];
};

/** The effective configuration as TOML that loads to the same values. */
export const describeConfig = (loaded: Loaded, options: ShowOptions): string =>
  TABLES.flatMap(({ path, entries }) => {
    const nameWidth = Math.max(...entries.map(({ name }) => name.length));
    return [`[${path}]`, ...entries.flatMap((entry) => showEntry(loaded, entry, nameWidth, options)), ""];
  }).join("\n");

/** The same for programs: flat, by key. */
export const toJson = (loaded: Loaded, { origin }: ShowOptions) => ({
  file: loaded.file ?? null,
  values: Object.fromEntries(
    TABLES.flatMap(({ entries }) => entries.map(({ key }) => [key, shownValue(loaded, key)])),
  ),
  waiting: loaded.waiting.map(({ key, asked, items }) => ({
    key,
    asked: redactUserinfo(asked),
    waits: redactUserinfo(items),
  })),
  ...(origin ? { origins: Object.fromEntries(loaded.origins) } : {}),
  warnings: loaded.warnings,
});
