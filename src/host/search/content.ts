import { lstatSync } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { pathDenied, shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import type { Reach } from "../reach/reach.ts";
import type { Files } from "../read/files.ts";
import { createUnread, type Unread } from "../read/unread.ts";
import { contentArgs, createFileFilter, isMultiline } from "./args.ts";
import { findBelow } from "./check.ts";
import type { ContentAnswer, ContentQuery } from "./contract.ts";
import { fitPage } from "./fit-page.ts";
import { createMatchParser } from "./match-records.ts";
import { createRecordParser } from "./records.ts";
import { explainComplaint } from "./refusal.ts";
import { type RipgrepRun, runRipgrep } from "./ripgrep.ts";
import { type ColumnFinder, createSnippets } from "./snippets.ts";
import { storedLines } from "./stored-hits.ts";
import { createTally } from "./tally.ts";

/** What both kinds of search work with. */
export interface SearchParts {
  readonly files: Pick<Files, "readLines">;
  /** Keeps lines behind a handle of whoever searches. */
  readonly putHits: (root: string, lines: Iterable<string> | AsyncIterable<string>) => Promise<string>;
  readonly rgPath: () => Promise<string>;
  readonly timeoutMs: () => number;
}

/** Of a path below the root; an empty one is the root. */
export const createRealPath =
  ({ realPath }: Located) =>
  (path: string): string =>
    path === "" ? realPath : `${realPath === "/" ? "" : realPath}/${path}`;

/** An answer without a handle is better than no answer; the totals show that there is more. */
export const putLines = async (
  putHits: SearchParts["putHits"],
  root: string,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<string | undefined> => {
  try {
    return await putHits(root, lines);
  } catch {
    return undefined;
  }
};

/** Throws where a search that found nothing has failed: ripgrep complained, or time ran out. Single unreadable files are counted. */
export const refuseIfFailed = async (
  end: { readonly code: number | null; readonly stderr: string },
  pattern: string,
  root: Located,
  timeoutMs: number,
): Promise<void> => {
  if (end.code === null)
    throw new LlmcError("timeout", `The search found nothing within ${timeoutMs / 1000} s.`, {
      hint: "Search a smaller folder, or let the operator raise mcp.tools.read_timeout.",
    });
  if (end.code !== 2) return;
  if (end.stderr !== "") throw explainComplaint(end.stderr, pattern);
  // An unreadable root is detected by reading it, and reported like any other error.
  if (root.stats.isDirectory()) await root.list();
};

/** Whether everything was searched that should be. */
export const isExact = ({ code }: { readonly code: number | null }, unread: Unread): boolean =>
  code !== null && code <= 2 && unread.total === 0;

/** A file glob says nothing about what is in a folder that cannot be entered. */
const isDirectoryBelow = ({ at }: Located, path: string): boolean => {
  try {
    return lstatSync(`${at}/${path}`).isDirectory();
  } catch {
    // In a folder that cannot be entered either.
    return false;
  }
};

/**
 * Asks where in its line a match is, for the few files whose lines are too long to be shown: knowing it of every hit
 * takes twice as long.
 */
const createColumnFinder =
  (
    query: ContentQuery,
    root: Located,
    run: Pick<RipgrepRun, "rgPath" | "timeoutMs" | "signal">,
  ): ColumnFinder =>
  async (paths) => {
    const found = new Map<string, Map<number, number>>();
    if (isMultiline(query)) return found;
    const isFile = root.stats.isFile();
    // The child has no descriptor of ours, but may open one of them.
    const targets = isFile
      ? [root.at.replace(/^\/proc\/self\//, `/proc/${process.pid}/`)]
      : paths.map((path) => `./${path}`);
    let current: Map<number, number> | undefined;
    await runRipgrep({
      ...run,
      args: contentArgs(query, { args: [] }, root.realPath, targets, "columns"),
      cwd: isFile ? "/" : root.at,
      take: createRecordParser(
        {
          file: (bytes) => {
            current = new Map();
            found.set(isFile ? "" : bytes.toString("utf8", 2), current);
          },
          hit: (line, column = 1) => current?.set(line, column),
        },
        true,
      ),
    });
    return found;
  };

export const searchContent = async (
  query: ContentQuery,
  parts: SearchParts,
  root: Located,
  { rules, refuseRead }: Reach,
  signal: AbortSignal | undefined,
): Promise<ContentAnswer> => {
  const isFile = root.stats.isFile();
  const refusal = isFile ? refuseRead(root.realPath, "content", root.stats) : undefined;
  if (refusal !== undefined) throw pathDenied(query.root, refusal, rules);
  const filter = createFileFilter(isFile ? undefined : query.fileGlob, query.ignoreFiles);
  const realPath = createRealPath(root);
  const shown = (path: string): string => shownPath(realPath(path), rules.workspace);
  const exists = (raw: Buffer): boolean => findBelow(root, [raw]).has(raw);

  const texts = {
    files: parts.files,
    contextLines: query.contextLines,
    linesAfter: query.pattern.split(query.literal ? "\n" : /\n|\\n/).length - 1,
    signal,
    realPath,
    shown,
  };
  const snippets = createSnippets({ ...texts, shownPath: shown, exists });
  const isCounted = (path: string): boolean =>
    filter.isMeant(path) && refuseRead(realPath(path), "content", "file") === undefined;
  const tally = createTally({
    pathOf: (bytes) => (isFile ? bytes.subarray(0, 0) : bytes.subarray(2)),
    isCounted,
  });

  const run = { rgPath: await parts.rgPath(), timeoutMs: parts.timeoutMs(), signal };
  const unread = createUnread();
  let isCut = false;
  const end = await runRipgrep({
    ...run,
    onUnread: (path) => {
      const isMeant = isCounted(path) || isDirectoryBelow(root, path);
      if (isMeant && refuseRead(realPath(path), "name") === undefined) unread.add(shown(path));
    },
    args: contentArgs(query, filter, root.realPath, isFile ? "-" : "./"),
    cwd: isFile ? "/" : root.at,
    ignoreRoot: query.ignoreFiles && !isFile ? root.realPath : undefined,
    stdin: isFile ? await root.openContent() : undefined,
    take: isMultiline(query)
      ? createMatchParser(tally, () => {
          isCut = true;
        })
      : createRecordParser(tally),
  });
  const { hits: totalHits, files: totalFiles, sorted } = tally.finish();
  if (totalHits === 0) await refuseIfFailed(end, query.pattern, root, run.timeoutMs);
  stopIfAborted(signal);
  const shownRoot = shown("");
  const store = () =>
    putLines(parts.putHits, shownRoot, storedLines(sorted, { ...texts, total: totalHits, exists }));
  const storing = totalHits > query.maxResults ? store() : undefined;
  // Both need the root, so both are awaited even if one of them fails.
  const found = await snippets
    .page(sorted, query.maxResults, createColumnFinder(query, root, run))
    .finally(() => storing);
  const hits = fitPage(found);
  const handle = await (storing ?? (hits.length < found.length ? store() : undefined));
  stopIfAborted(signal);
  const left = unread.finish();
  const exact = isExact(end, left) && !isCut;
  return { root: shownRoot, hits, totalHits, totalFiles, exact, handle, unread: left };
};
