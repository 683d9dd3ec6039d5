import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { compileGlob, isGlob } from "../../policy/globs.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import type { Reach } from "../reach/reach.ts";
import { createUnread, NOTHING_UNREAD } from "../read/unread.ts";
import { createFileFilter, nameArgs } from "./args.ts";
import { createBest } from "./best.ts";
import { findBelow } from "./check.ts";
import { createRealPath, isExact, putLines, refuseIfFailed, type SearchParts } from "./content.ts";
import type { NameAnswer, NameQuery } from "./contract.ts";
import { findHiddenNames, isWholeName, NO_HIDDEN } from "./hidden-names.ts";
import { missingLine, quotePath } from "./lines.ts";
import { compareRanked, createNameRanker, type RankedName } from "./rank-names.ts";
import { createNameParser } from "./records.ts";
import { runRipgrep } from "./ripgrep.ts";

/** Maximum number of names that are kept, best first; the rest are only counted. */
const MAX_HELD_NAMES = 100_000;

interface Found extends RankedName {
  /** In bytes, where they may not be UTF-8. */
  readonly raw: Buffer | undefined;
}

type Ranker = (path: string) => RankedName | undefined;

const byPath = (a: Found, b: Found): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

/** Names with brackets are common, so such a pattern also matches literally. */
const createGlobRanker = (pattern: string): Ranker => {
  const matches = compileGlob(pattern, { ignoreCase: pattern === pattern.toLowerCase() });
  return (path) =>
    matches(path) || path === pattern || path.endsWith(`/${pattern}`)
      ? { path, rank: "exact", isSameCase: false }
      : undefined;
};

/** Keeps the best and counts all; what is only a subsequence is forgotten once there is something better. */
const createFinds = (pattern: string) => {
  const isPattern = isGlob(pattern);
  const rank = isPattern ? createGlobRanker(pattern) : createNameRanker(pattern);
  const make = () => ({
    count: 0,
    best: createBest<Found>(MAX_HELD_NAMES, isPattern ? byPath : compareRanked, () => 1),
  });
  const good = make();
  const poor = make();
  return {
    offer: (path: string, raw: () => Buffer | undefined): void => {
      const ranked = rank(path);
      if (ranked === undefined || (ranked.rank === "subsequence" && good.count > 0)) return;
      const among = ranked.rank === "subsequence" ? poor : good;
      among.count++;
      among.best.add({ ...ranked, raw: raw() });
    },
    finish: () => {
      const { count, best } = good.count > 0 ? good : poor;
      return { total: count, sorted: best.sorted() };
    },
  };
};

const nameLines = function* (
  sorted: readonly Found[],
  total: number,
  shown: (path: string) => string,
  exists: (raw: Buffer) => boolean,
): Generator<string> {
  for (const { path, raw } of sorted) if (raw === undefined || exists(raw)) yield quotePath(shown(path));
  if (sorted.length < total) yield missingLine(total - sorted.length, "files");
};

export const searchNames = async (
  query: NameQuery,
  parts: SearchParts,
  root: Located,
  { rules, refuseRead }: Reach,
  signal: AbortSignal | undefined,
): Promise<NameAnswer> => {
  const isFile = root.stats.isFile();
  const filter = createFileFilter(query.fileGlob, query.ignoreFiles);
  const realPath = createRealPath(root);
  const shown = (path: string): string => shownPath(realPath(path), rules.workspace);
  const finds = createFinds(query.pattern);
  const answerRoot = shown("");
  if (isFile) {
    finds.offer(answerRoot, () => undefined);
    const { total } = finds.finish();
    const paths = total > 0 ? [answerRoot] : [];
    return {
      root: answerRoot,
      paths,
      totalHits: total,
      exact: true,
      handle: undefined,
      ignored: [],
      unread: NOTHING_UNREAD,
    };
  }

  const mayShow = (path: string): boolean => refuseRead(realPath(path), "name") === undefined;
  const exists = (raw: Buffer): boolean => findBelow(root, [raw]).has(raw);
  const run = { rgPath: await parts.rgPath(), timeoutMs: parts.timeoutMs(), signal };
  const unread = createUnread();
  const end = await runRipgrep({
    ...run,
    onUnread: (path) => {
      if (mayShow(path)) unread.add(shown(path));
    },
    args: nameArgs(query, filter, root.realPath),
    cwd: root.at,
    ignoreRoot: query.ignoreFiles ? root.realPath : undefined,
    take: createNameParser((bytes) => {
      const path = bytes.toString("utf8", 2);
      if (!filter.isMeant(path)) return;
      finds.offer(path, () => (path.includes("\uFFFD") ? Buffer.from(bytes.subarray(2)) : undefined));
    }),
  });
  const first = finds.finish();
  if (first.total === 0) await refuseIfFailed(end, query.pattern, root, run.timeoutMs);
  stopIfAborted(signal);
  const isMissing =
    query.ignoreFiles &&
    !isGlob(query.pattern) &&
    (first.total === 0 || isWholeName(query.pattern)) &&
    !first.sorted.some(({ rank }) => rank === "exact");
  const { hidden, ignored } = isMissing
    ? await findHiddenNames({
        query,
        filter,
        root,
        workspace: rules.workspace,
        refuseRead,
        mayShow,
        shown,
        run,
      })
    : NO_HIDDEN;
  for (const path of hidden) finds.offer(path, () => undefined);
  const { total, sorted } = hidden.length > 0 ? finds.finish() : first;
  const page = sorted
    .slice(0, query.maxResults)
    .map(({ path, raw }) => ({ path, bytes: raw ?? Buffer.from(path) }));
  const there = findBelow(
    root,
    page.map(({ bytes }) => bytes),
  );
  const paths = page
    .filter(({ path, bytes }) => there.has(bytes) && mayShow(path))
    .map(({ path }) => shown(path));
  const handle =
    total > query.maxResults
      ? await putLines(parts.putHits, answerRoot, nameLines(sorted, total, shown, exists))
      : undefined;
  stopIfAborted(signal);
  const left = unread.finish();
  const exact = isExact(end, left);
  return { root: answerRoot, paths, totalHits: total, exact, handle, ignored, unread: left };
};
