/** A line of `ls -l`. */
export interface LongEntry {
  /** `d`, `-`, `l` … and nine letters. */
  readonly mode: string;
  readonly owner: string;
  readonly size: string;
  readonly time: string;
  /** As `ls` wrote it, the target of a link included. */
  readonly name: string;
}

const TIME =
  /^(?:\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d{1,9})? [+-]\d{4})?|\d\d-\d\d \d\d:\d\d|\S{1,12} +\S{1,12} +\d[\d:]{3,4}) /;
const HEAD =
  /^(?:\d{1,20} +){0,2}([bcdlpsD-][rwxsStTlL-]{9})[.+@]? +\d{1,10} +(\S{1,64}) +(?:(\S{1,64}) +)?(\d[\d.,]{0,20}[KMGTPEZY]?(?:, +\d{1,9})?) +/;

/** Undefined for anything else than an entry with owner, group, size, time and name. */
export const readLongEntry = (line: string): LongEntry | undefined => {
  if (line.length > 8192) return undefined;
  const head = HEAD.exec(line);
  if (head === null) return undefined;
  const [whole, mode = "", owner = "", group = "", size = ""] = head;
  const rest = line.slice(whole.length);
  const time = TIME.exec(rest);
  if (time === null) return undefined;
  return {
    mode,
    owner: group === "" || group === owner ? owner : `${owner}:${group}`,
    size,
    time: time[0].trim().replace(/ +/g, " "),
    name: rest.slice(time[0].length),
  };
};

export interface Listing {
  /** Empty where only one folder was listed. */
  readonly folder: string;
  readonly lines: readonly string[];
}

/** The folders of `ls -R`, and of `ls` with several: `name:`, its entries, an empty line. */
export const splitListings = (lines: readonly string[]): Listing[] => {
  const listings: { folder: string; lines: string[] }[] = [{ folder: "", lines: [] }];
  let isStart = true;
  for (const line of lines) {
    if (line === "") isStart = true;
    else if (isStart && line.endsWith(":") && readLongEntry(line) === undefined) {
      listings.push({ folder: line.slice(0, -1), lines: [] });
      isStart = false;
    } else {
      listings.at(-1)?.lines.push(line);
      isStart = false;
    }
  }
  return listings.filter(({ folder, lines: entries }) => folder !== "" || entries.length > 0);
};
