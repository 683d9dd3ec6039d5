import { plural } from "../../base/text.ts";
import { plainText, splitLines } from "../text/lines.ts";
import { hasAny, parseArguments } from "./arguments.ts";
import { firstThatFits } from "./budget.ts";
import type { Enriched, Enricher, EnrichLimits } from "./contract.ts";
import { type Listing, type LongEntry, readLongEntry, splitListings } from "./ls-entries.ts";
import { quoteName, summarizePaths } from "./path-list.ts";

const VALUES = "ITw ignore tabsize width sort time color format hide block-size indicator-style time-style";

const isExecutable = (mode: string): boolean => mode.startsWith("-") && /[xs]/.test(mode.slice(1));

/** What is shown once, because most entries have it. */
interface Usual {
  readonly owner: string;
  /** By the type of entry: `d`, `-` … */
  readonly modes: ReadonlyMap<string, string>;
}

/** `name/ Nov 5 13:00`, `name 120 Nov 5 13:00`, `name* 120 …`, `name -> target …`; owner and rights where they differ. */
const renderEntry = (entry: LongEntry, { owner, modes }: Usual): string => {
  const { mode, size, name, time } = entry;
  const [type = "", rights] = [mode[0], mode.slice(1)];
  const differs = [
    ...(type === "l" || modes.get(type) === rights ? [] : [rights]),
    ...(entry.owner === owner ? [] : [entry.owner]),
  ];
  const rest = [time, ...differs].join(" ");
  if (type === "d") return `${quoteName(name.replace(/\/$/, ""))}/ ${rest}`;
  if (type === "l") return `${name} ${rest}`;
  if (type !== "-") return `${quoteName(name)} (${type}) ${rest}`;
  return `${quoteName(name)}${isExecutable(mode) ? "*" : ""} ${size} ${rest}`;
};

const isDots = ({ name }: LongEntry): boolean =>
  name === "." || name === ".." || name === "./" || name === "../";

const commonest = (values: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted((one, other) => other[1] - one[1])[0]?.[0] ?? "";
};

const usualOf = (entries: readonly LongEntry[]): Usual => {
  const types = [...new Set(entries.map(({ mode }) => mode[0] ?? ""))];
  const modesOf = (type: string): readonly string[] =>
    entries.filter(({ mode }) => mode.startsWith(type)).map(({ mode }) => mode.slice(1));
  return {
    owner: commonest(entries.map(({ owner }) => owner)),
    modes: new Map(types.map((type) => [type, commonest(modesOf(type))])),
  };
};

interface LongListing {
  readonly folder: string;
  readonly entries: readonly LongEntry[];
}

/** Undefined if a line is not an entry: then the output does not have the form that the options promise. */
const readLong = ({ folder, lines }: Listing): LongListing | undefined => {
  const entries: LongEntry[] = [];
  for (const line of lines) {
    if (/^total \d/.test(line)) continue;
    const entry = readLongEntry(line);
    if (entry === undefined) return undefined;
    if (!isDots(entry)) entries.push(entry);
  }
  return { folder, entries };
};

const summarizeLong = (listings: readonly LongListing[], limits: EnrichLimits): Enriched => {
  const all = listings.flatMap(({ entries }) => entries);
  const usual = usualOf(all);
  const isOneOwner = all.every(({ owner }) => owner === usual.owner);
  const renderMode = (type: string, plural: string): readonly string[] =>
    usual.modes.has(type) ? [`${plural} ${usual.modes.get(type)}`] : [];
  const same = [
    ...(all.length === 0 ? [] : [`${isOneOwner ? "all" : "most"} of ${usual.owner}`]),
    ...renderMode("d", "folders"),
    ...renderMode("-", "files"),
  ];
  const head = `[${[plural(all.length, "entry", "entries"), ...same].join("; ")}]`;
  const rows = (maxEntries: number): string[] =>
    listings.flatMap(({ folder, entries }) => {
      const shown = entries.slice(0, maxEntries).map((entry) => renderEntry(entry, usual));
      const rest = entries.length > maxEntries ? [`[+${entries.length - maxEntries}]`] : [];
      return [...(folder === "" ? [] : [`${folder}:`]), ...shown, ...rest];
    });
  const [text, way] = firstThatFits(
    [Number.POSITIVE_INFINITY, 60, 25, 10, 4, 0].map(
      (maxEntries) => () => [head, ...rows(maxEntries)].join("\n"),
    ),
    limits,
  );
  return { text, matchCount: all.length, truncated: way > 0 };
};

const summarizeNames = (listings: readonly Listing[], limits: EnrichLimits): Enriched => {
  const names = listings.flatMap(({ folder, lines }) =>
    lines
      .filter((name) => name !== "." && name !== "..")
      .map((name) => (folder === "" ? name : `${folder.replace(/\/$/, "")}/${name}`)),
  );
  return {
    ...summarizePaths(names, limits, plural(names.length, "entry", "entries")),
    matchCount: names.length,
  };
};

/** These give the lines another form. */
const OTHER_OUTPUT = "i inode s size Z context C x m format zero";

export const ls: Enricher = {
  name: "ls",
  programs: ["ls"],
  enrich: (ran, limits) => {
    const args = parseArguments(ran.argv.slice(1), VALUES);
    if (hasAny(args, OTHER_OUTPUT)) return undefined;
    const listings = splitListings(splitLines(plainText(ran.stdout)));
    if (!hasAny(args, "l o g n full-time")) return summarizeNames(listings, limits);
    const long = listings.map(readLong);
    return long.every((each) => each !== undefined) ? summarizeLong(long, limits) : undefined;
  },
};
