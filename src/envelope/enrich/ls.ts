import { counted, plainText, splitLines } from "../text/lines.ts";
import { type Arguments, hasAny, parseArguments } from "./arguments.ts";
import { firstThatFits } from "./budget.ts";
import type { Enriched, Enricher, EnrichLimits } from "./contract.ts";
import { type Listing, type LongEntry, readLongEntry, splitListings } from "./ls-entries.ts";
import { quoteName, tellPaths } from "./path-list.ts";

const VALUES = "ITw ignore tabsize width sort time color format hide block-size indicator-style time-style";

const isExecutable = (mode: string): boolean => mode.startsWith("-") && /[xs]/.test(mode.slice(1));

/** `name/`, `name 120`, `name* 120`, `name -> target`; the time only where the order is by time. */
const tellEntry = (entry: LongEntry, isTimed: boolean): string => {
  const { mode, size, name, time } = entry;
  const when = isTimed ? ` ${time}` : "";
  if (mode.startsWith("d")) return `${quoteName(name.replace(/\/$/, ""))}/${when}`;
  if (mode.startsWith("l")) return `${name}${when}`;
  if (!mode.startsWith("-")) return `${quoteName(name)} (${mode[0]})${when}`;
  return `${quoteName(name)}${isExecutable(mode) ? "*" : ""} ${size}${when}`;
};

const isDots = ({ name }: LongEntry): boolean =>
  name === "." || name === ".." || name === "./" || name === "../";

/** What most entries have in common is said once. */
const usualMode = (entries: readonly LongEntry[], type: string): string => {
  const modes = new Set(entries.filter(({ mode }) => mode.startsWith(type)).map(({ mode }) => mode.slice(1)));
  return modes.size === 1 ? ([...modes][0] ?? "") : "";
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

const tellLong = (listings: readonly LongListing[], args: Arguments, limits: EnrichLimits): Enriched => {
  const all = listings.flatMap(({ entries }) => entries);
  const owners = new Set(all.map(({ owner }) => owner));
  const isTimed = hasAny(args, "t u c time sort full-time time-style");
  const same = [
    owners.size === 1 ? `all of ${[...owners][0]}` : "",
    usualMode(all, "d") === "" ? "" : `folders ${usualMode(all, "d")}`,
    usualMode(all, "-") === "" ? "" : `files ${usualMode(all, "-")}`,
  ].filter((part) => part !== "");
  const head = `[${[counted(all.length, "entry", "entries"), ...same].join("; ")}]`;
  const rows = (maxEntries: number): string[] =>
    listings.flatMap(({ folder, entries }) => {
      const told = entries.slice(0, maxEntries).map((entry) => tellEntry(entry, isTimed));
      const rest = entries.length > maxEntries ? [`[+${entries.length - maxEntries}]`] : [];
      return [...(folder === "" ? [] : [`${folder}:`]), ...told, ...rest];
    });
  const [text] = firstThatFits(
    [Number.POSITIVE_INFINITY, 60, 25, 10, 4, 0].map(
      (maxEntries) => () => [head, ...rows(maxEntries)].join("\n"),
    ),
    limits,
  );
  return { text, matchCount: all.length, truncated: true };
};

const tellNames = (listings: readonly Listing[], limits: EnrichLimits): Enriched => {
  const names = listings.flatMap(({ folder, lines }) =>
    lines
      .filter((name) => name !== "." && name !== "..")
      .map((name) => (folder === "" ? name : `${folder.replace(/\/$/, "")}/${name}`)),
  );
  return { ...tellPaths(names, limits, counted(names.length, "entry", "entries")), matchCount: names.length };
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
    if (!hasAny(args, "l o g n full-time")) return tellNames(listings, limits);
    const long = listings.map(readLong);
    return long.every((each) => each !== undefined) ? tellLong(long, args, limits) : undefined;
  },
};
