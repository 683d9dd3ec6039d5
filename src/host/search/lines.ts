import { LlmcError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error-table.ts";
import type { Files } from "../read/files.ts";

// What would make a line ambiguous: control characters, a quote or bracket in front, and what looks like a line number.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
const NEEDS_QUOTES = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|^["[]|:\d/;
const HIT = /^("(?:[^"\\]|\\.)*"|[^"[].*):(\d+)$/s;
const GONE = "[no longer there]";

const quotePath = (path: string): string => (NEEDS_QUOTES.test(path) ? JSON.stringify(path) : path);
const unquotePath = (quoted: string): string =>
  quoted.startsWith('"') ? String(JSON.parse(quoted)) : quoted;

/** Lines of a handle: hits of one file, without their texts. */
export const hitLines = function* (path: string, lines: readonly number[]): Generator<string> {
  const quoted = quotePath(path);
  for (const line of lines) yield `${quoted}:${line}`;
};

/** A line of a handle: a file that was found by its name. */
export const nameLine = (path: string): string => quotePath(path);

/** The last line of a handle says what was left out. */
export const missingLine = (count: number, what: string): string => `[${count} more ${what} are not stored]`;

// Handing over each line by itself costs more than storing it.
const BLOCK_CHARS = 8 * 1024;

/** The same text in larger pieces. */
export const inBlocks = function* (lines: Iterable<string>): Generator<string> {
  let block: string[] = [];
  let chars = 0;
  for (const line of lines) {
    block.push(line);
    chars += line.length + 1;
    if (chars < BLOCK_CHARS) continue;
    yield block.join("\n");
    block = [];
    chars = 0;
  }
  if (block.length > 0) yield block.join("\n");
};

const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "path_denied",
  "file_not_found",
  "not_a_directory",
  "is_directory",
  "permission_denied",
  "invalid_args",
]);

/** The file no longer exists, was never inside the roots, or may not be shown: the hit is dropped without a message. */
export const isRefusal = (error: unknown): boolean => error instanceof LlmcError && REFUSALS.has(error.code);

const orGone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

type HitFiles = Pick<Files, "readLines" | "stat">;

const renderName = async (
  files: HitFiles,
  line: string,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const path = unquotePath(line);
  // Checked when it was stored; its real name cannot be written here.
  if (path.includes("\uFFFD")) return line;
  return (await orGone(files.stat(path, signal))) === undefined ? GONE : line;
};

const renderHits = async (
  files: HitFiles,
  quoted: string,
  numbers: readonly number[],
  signal: AbortSignal | undefined,
): Promise<string[]> => {
  const path = unquotePath(quoted);
  const ranges = numbers.map((line) => ({ firstLine: line, lastLine: line }));
  const found = await orGone(files.readLines(path, ranges, signal));
  if (found === undefined && !path.includes("\uFFFD")) return numbers.map(() => GONE);
  return numbers.map((line, i) => `${quoted}:${line}:${found?.ranges[i]?.[0] ?? ""}`);
};

/** Stored lines as they are shown: names and texts come through the file port, now, and only what it still gives. */
export const renderHitLines =
  (files: HitFiles) =>
  async (lines: readonly string[], signal?: AbortSignal): Promise<readonly string[]> => {
    const shown: string[] = [];
    for (let i = 0; i < lines.length; ) {
      const line = lines[i] ?? "";
      const [, quoted] = HIT.exec(line) ?? [];
      if (quoted === undefined) {
        shown.push(line === "" || line.startsWith("[") ? line : await renderName(files, line, signal));
        i++;
        continue;
      }
      const numbers: number[] = [];
      for (; i < lines.length; i++) {
        const next = HIT.exec(lines[i] ?? "");
        if (next?.[1] !== quoted) break;
        numbers.push(Number(next[2]));
      }
      shown.push(...(await renderHits(files, quoted, numbers, signal)));
    }
    return shown;
  };
