import type { RecordReader } from "./records.ts";

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_N = 0x6e;
const LETTER_U = 0x75;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Line ends of one record whose positions are held, 8 bytes each: more than any source file has lines. */
const MAX_LINE_ENDS = 2_000_000;

/** What the string is that is being read: only names and paths are collected. */
type Role = "name" | "type" | "path" | "lines" | "lines in Base64" | "other";

interface Scan {
  role: Role | undefined;
  /** What is collected of the string, a letter for each byte. */
  collected: string;
  /** Bytes that still belong to an escape sequence; -1: the letter that says how long it is comes next. */
  escapeLeft: number;
  /** Letters of Base64 that do not make whole bytes yet. */
  base64: string;
  /** The last property, and the one whose object is open. */
  property: string;
  parent: string;
  isValue: boolean;
  number: number | undefined;
  type: string;
  firstLine: number;
  /** Position in the matched lines, in bytes. */
  position: number;
  lineEnds: number[];
  isCut: boolean;
  /** Line ends before the last match, and the line that it was reported for. */
  passed: number;
  lastHit: number;
}

interface MatchSink {
  readonly reader: RecordReader;
  /** A match was left out, because it starts too many lines into its record. */
  readonly onCut: () => void;
}

const newScan = (): Scan => ({
  role: undefined,
  collected: "",
  escapeLeft: 0,
  base64: "",
  property: "",
  parent: "",
  isValue: false,
  number: undefined,
  type: "",
  firstLine: 1,
  position: 0,
  lineEnds: [],
  isCut: false,
  passed: 0,
  lastHit: 0,
});

const roleOf = ({ isValue, property, parent, type }: Scan): Role => {
  if (!isValue) return "name";
  if (property === "type") return "type";
  if (parent === "path" && type === "begin") return "path";
  if (parent !== "lines") return "other";
  return property === "bytes" ? "lines in Base64" : "lines";
};

const noteLineEnd = (scan: Scan, position: number): void => {
  if (scan.lineEnds.length < MAX_LINE_ENDS) scan.lineEnds.push(position);
  else scan.isCut = true;
};

const takeBase64 = (scan: Scan, letters: string): void => {
  const all = `${scan.base64}${letters}`;
  const whole = all.length - (all.length % 4);
  scan.base64 = all.slice(whole);
  const bytes = Buffer.from(all.slice(0, whole), "base64");
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1))
    noteLineEnd(scan, scan.position + at);
  scan.position += bytes.length;
};

/** A byte of an escape sequence, the backslash included. */
const takeEscape = (scan: Scan, byte: number): void => {
  if (scan.escapeLeft === 0) scan.escapeLeft = -1;
  else if (scan.escapeLeft > 0) scan.escapeLeft--;
  else {
    scan.escapeLeft = byte === LETTER_U ? 4 : 0;
    if (scan.role !== "lines") return;
    // Only control characters are written by their number: every sequence stands for one byte.
    if (byte === LETTER_N) noteLineEnd(scan, scan.position);
    scan.position++;
  }
};

const isCollected = ({ role }: Scan): boolean => role === "name" || role === "type" || role === "path";

const endString = (scan: Scan, reader: RecordReader): void => {
  if (isCollected(scan)) {
    const text = String(JSON.parse(`"${Buffer.from(scan.collected, "latin1").toString("utf8")}"`));
    if (scan.role === "name") scan.property = text;
    if (scan.role === "type") scan.type = text;
    if (scan.role === "path") reader.file(Buffer.from(text, scan.property === "bytes" ? "base64" : "utf8"));
  }
  scan.role = undefined;
  scan.collected = "";
};

/** Reads on in a string, and returns the position of what comes next. */
const readString = (scan: Scan, chunk: Buffer, from: number, reader: RecordReader): number => {
  let at = from;
  while (at < chunk.length) {
    const begin = at;
    let byte = chunk[at++] ?? 0;
    if (scan.escapeLeft !== 0 || byte === BACKSLASH) takeEscape(scan, byte);
    else if (byte === QUOTE) {
      endString(scan, reader);
      return at;
    } else {
      for (byte = chunk[at] ?? 0; at < chunk.length && byte !== QUOTE && byte !== BACKSLASH; )
        byte = chunk[++at] ?? 0;
      if (scan.role === "lines") scan.position += at - begin;
      else if (scan.role === "lines in Base64") takeBase64(scan, chunk.toString("latin1", begin, at));
    }
    if (isCollected(scan)) scan.collected += chunk.toString("latin1", begin, at);
  }
  return at;
};

/** A match at a position in the lines; they come in order. */
const takeMatch = (scan: Scan, start: number, { reader, onCut }: MatchSink): void => {
  const { lineEnds } = scan;
  while (scan.passed < lineEnds.length && (lineEnds[scan.passed] ?? 0) < start) scan.passed++;
  if (scan.isCut && scan.passed === lineEnds.length) {
    onCut();
    return;
  }
  const line = scan.firstLine + scan.passed;
  if (line !== scan.lastHit) reader.hit(line);
  scan.lastHit = line;
};

const endNumber = (scan: Scan, sink: MatchSink): void => {
  const { number, property, type } = scan;
  scan.number = undefined;
  if (number === undefined || type !== "match") return;
  if (property === "line_number") scan.firstLine = number;
  if (property === "start") takeMatch(scan, number, sink);
};

const takeByte = (scan: Scan, byte: number, sink: MatchSink): void => {
  if (byte >= ZERO && byte <= NINE) {
    scan.number = (scan.number ?? 0) * 10 + byte - ZERO;
    return;
  }
  if (byte === COMMA || byte === CLOSE) endNumber(scan, sink);
  if (byte === OPEN) scan.parent = scan.property;
  if (byte === QUOTE) scan.role = roleOf(scan);
  if (byte === NEWLINE) Object.assign(scan, newScan());
  scan.isValue = byte === COLON;
};

/**
 * Reads ripgrep's `--json`, where a match may have many lines; each counts once, at the line that it starts in. Records
 * hold whole lines, and matches that touch come in one: they are read as they come and never held, since one of a
 * single long line would take ten times its size.
 */
export const createMatchParser = (reader: RecordReader, onCut: () => void): ((chunk: Buffer) => void) => {
  const scan = newScan();
  const sink = { reader, onCut };
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (scan.role !== undefined) at = readString(scan, chunk, at, reader);
      else takeByte(scan, chunk[at++] ?? 0, sink);
    }
  };
};
