import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error-table.ts";
import type { CallerReach } from "../reach/reach.ts";
import type { Files } from "../read/files.ts";

// What would make a line ambiguous: control characters, and what starts a quoted name, a note or a hit.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
const NEEDS_QUOTES = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|^["[{]/;
const GONE = "[no longer there]";

/** A file that was found by its name, as a line of a handle. */
export const quotePath = (path: string): string => (NEEDS_QUOTES.test(path) ? JSON.stringify(path) : path);
const unquotePath = (quoted: string): string =>
  quoted.startsWith('"') ? String(JSON.parse(quoted)) : quoted;

/** A hit as a handle keeps it: one line of JSON. Without a snippet it is a reference, whose text is read when it is shown. */
export interface StoredHit {
  readonly path: string;
  readonly line: number;
  /** First line of the snippet. */
  readonly first?: number;
  /** The line with its context, as it was found. */
  readonly snippet?: string;
  /** Of the file when it was read; see `versionOf`. */
  readonly version?: string;
}

/** The last line of a handle says what was left out. */
export const missingLine = (count: number, what: string): string => `[${count} more ${what} are not stored]`;

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

export const orGone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

/** A line of a handle that names no file. */
const isNote = (line: string): boolean => line === "" || line.startsWith("[");

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

/** Where stored hits come from. */
export interface HitSource {
  readonly files: HitFiles;
  /** Of a path as it is shown. */
  readonly versionOf: (path: string) => string | undefined;
}

type FileState = "same" | "changed" | "gone" | "refused";

const ONE_LINE = [{ firstLine: 1, lastLine: 1 }];

/** Whether a file may still be shown, and whether it is what it was. Its content is opened: names alone are no secret. */
const stateOf = async (
  { path, version }: StoredHit,
  source: HitSource,
  signal: AbortSignal | undefined,
): Promise<FileState> => {
  if (path.includes("\uFFFD")) return "same";
  try {
    await source.files.readLines(path, ONE_LINE, signal);
    return source.versionOf(path) === version ? "same" : "changed";
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return (error as LlmcError).code === "file_not_found" ? "gone" : "refused";
  }
};

/** Files that are opened at the same time. */
const AT_ONCE = 16;

/** Those of these hits' files whose content the file port does not give any more. */
const findRefused = async (
  hits: readonly StoredHit[],
  source: HitSource,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> => {
  const files = [...new Map(hits.map((hit) => [hit.path, hit])).values()];
  const refused = new Set<string>();
  for (let at = 0; at < files.length; at += AT_ONCE)
    await Promise.all(
      files.slice(at, at + AT_ONCE).map(async (hit) => {
        if ((await stateOf(hit, source, signal)) === "refused") refused.add(hit.path);
      }),
    );
  return refused;
};

/**
 * Lines of a handle as a search in the handle reads them: what may still be shown, and nothing else, so that no pattern
 * tells anything about the rest. Every path is judged by the rules in force; a file whose text is stored is opened, too.
 */
export const hitSearchTexts =
  (source: HitSource, reach: Pick<CallerReach, "current">) =>
  async (lines: readonly string[], signal?: AbortSignal): Promise<readonly (string | undefined)[]> => {
    const { rules, refuseRead } = reach.current();
    const rows = lines.map((line) => {
      if (isNote(line)) return { line, isAllowed: true };
      const hit = line.startsWith("{") ? (JSON.parse(line) as StoredHit) : undefined;
      const real = posix.resolve(rules.workspace, hit?.path ?? unquotePath(line));
      const isAllowed = refuseRead(real, hit === undefined ? "name" : "content", "file") === undefined;
      return { line, hit, isAllowed };
    });
    const stored = rows.flatMap(({ hit, isAllowed }) =>
      isAllowed && hit?.snippet !== undefined ? [hit] : [],
    );
    const refused = await findRefused(stored, source, signal);
    return rows.map(({ line, hit, isAllowed }) => {
      if (!isAllowed || (hit !== undefined && refused.has(hit.path))) return undefined;
      return hit === undefined
        ? line
        : `${hit.path}:${hit.line}:${(hit.snippet ?? "").replaceAll("\n", " ")}`;
    });
  };

const NOTES: Readonly<Record<FileState, string>> = {
  same: "",
  changed: " [changed since]",
  gone: " [gone since]",
  refused: "",
};

const snippetLines = ({ line, first = line, snippet = "" }: StoredHit): string[] =>
  snippet.split("\n").map((text, i) => `${first + i}${first + i === line ? ":" : "-"}${text}`);

/** The texts of references, as they are now. */
const readTexts = async (
  references: readonly StoredHit[],
  { files }: HitSource,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<StoredHit, string>> => {
  const path = references[0]?.path ?? "";
  const ranges = references.map(({ line }) => ({ firstLine: line, lastLine: line }));
  const isReadable = references.length > 0 && !path.includes("\uFFFD");
  const read = isReadable ? await orGone(files.readLines(path, ranges, signal)) : undefined;
  return new Map(references.map((hit, i) => [hit, read?.ranges[i]?.[0] ?? ""]));
};

/** Hits of one file: its path with the first of them, then their lines. */
const renderHits = async (
  hits: readonly StoredHit[],
  source: HitSource,
  signal: AbortSignal | undefined,
): Promise<string[]> => {
  const [head] = hits;
  if (head === undefined) return [];
  const kept = hits.filter(({ snippet }) => snippet !== undefined);
  const state = await stateOf(kept[0] ?? head, source, signal);
  if (state === "refused" || (state === "gone" && kept.length === 0)) return hits.map(() => GONE);
  const texts = await readTexts(
    hits.filter(({ snippet }) => snippet === undefined),
    source,
    signal,
  );
  const heading = `${quotePath(head.path)}${kept.length > 0 ? NOTES[state] : ""}`;
  return hits.map((hit, i) => {
    const lines = snippetLines({ ...hit, snippet: hit.snippet ?? texts.get(hit) ?? "" });
    return (i === 0 ? [heading, ...lines] : lines).join("\n");
  });
};

/**
 * Stored lines as they are shown: what was found, of files that the file port still gives; those that have changed are
 * marked.
 */
export const renderHitLines =
  (source: HitSource) =>
  async (lines: readonly string[], signal?: AbortSignal): Promise<readonly string[]> => {
    const shown: string[] = [];
    for (let i = 0; i < lines.length; ) {
      const line = lines[i] ?? "";
      if (!line.startsWith("{")) {
        shown.push(isNote(line) ? line : await renderName(source.files, line, signal));
        i++;
        continue;
      }
      const hits: StoredHit[] = [];
      for (; i < lines.length && (lines[i] ?? "").startsWith("{"); i++) {
        const hit = JSON.parse(lines[i] ?? "") as StoredHit;
        if (hits[0] !== undefined && hits[0].path !== hit.path) break;
        hits.push(hit);
      }
      shown.push(...(await renderHits(hits, source, signal)));
    }
    return shown;
  };
