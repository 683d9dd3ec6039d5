import { plural } from "../../base/text.ts";
import { plainText, shorten, splitLines } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { fits } from "./budget.ts";
import { cat } from "./cat.ts";
import type { Enriched, Enricher, EnrichLimits, Ran } from "./contract.ts";
import { summarizeBlame } from "./git-blame.ts";
import { summarizeDiff } from "./git-diff.ts";
import { readLog, renderCommit, summarizeLog, summarizeStat } from "./git-log.ts";
import { summarizeShortStatus, summarizeStatus } from "./git-status.ts";
import { summarizeSearch } from "./grep.ts";
import { headAndTail } from "./head-and-tail.ts";
import { summarizePaths } from "./path-list.ts";

/** Options before the sub-command that take the next argument as their value. */
const VALUED = new Set("-C -c --git-dir --work-tree --namespace --exec-path --config-env".split(" "));

const splitArgs = (args: readonly string[]): readonly [string, readonly string[]] => {
  let at = 0;
  while (at < args.length && args[at]?.startsWith("-")) at += VALUED.has(args[at] ?? "") ? 2 : 1;
  return [args[at] ?? "", args.slice(at + 1)];
};

const isPatch = (line: string | undefined): boolean => /^diff --(?:git|cc|combined) /.test(line ?? "");

const status = (lines: readonly string[], limits: EnrichLimits): Enriched | undefined => {
  const summary = summarizeStatus(lines, limits) ?? summarizeShortStatus(lines, limits);
  return summary === undefined
    ? undefined
    : { text: summary.text, matchCount: summary.count, truncated: summary.truncated };
};

const diff = (
  lines: readonly string[],
  args: readonly string[],
  limits: EnrichLimits,
): Enriched | undefined => {
  if (isPatch(lines[0])) {
    const { text, files, truncated } = summarizeDiff(lines, limits);
    return { text, matchCount: files, truncated };
  }
  if (args.some((arg) => /^--stat(?:=|$)/.test(arg))) {
    const summary = summarizeStat(lines, limits);
    return summary === undefined ? undefined : { ...summary, matchCount: null };
  }
  return args.includes("--name-only")
    ? { ...summarizePaths(lines, limits, plural(lines.length, "file")), matchCount: lines.length }
    : undefined;
};

/** One commit: its whole message, then what it changed. */
const show = (lines: readonly string[], limits: EnrichLimits): Enriched | undefined => {
  const commits = readLog(lines);
  const [commit] = commits ?? [];
  if (commits === undefined || commit === undefined) return undefined;
  if (commits.length > 1) return { ...summarizeLog(commits, limits), matchCount: commits.length };
  const body = commit.message.slice(1).join("\n").trim();
  const head = [renderCommit(commit, false), ...(body === "" ? [] : [body])].join("\n");
  const room = { ...limits, maxTokens: limits.maxTokens - estimateTokens(shorten(head, 4000)) };
  if (!isPatch(commit.rest[0])) {
    const { text, ...rest } =
      summarizeStat(commit.rest, room) ?? headAndTail(commit.rest, room, { head: 0.7 });
    return { text: `${head}\n${text}`, matchCount: null, ...rest };
  }
  const summary = summarizeDiff(commit.rest, room);
  return { text: `${head}\n${summary.text}`, matchCount: summary.files, truncated: summary.truncated };
};

/** Other forms of a log have one line for each commit, mostly: the first ones are the newest. */
const log = (
  lines: readonly string[],
  args: readonly string[],
  limits: EnrichLimits,
): Enriched | undefined => {
  const commits = readLog(lines);
  if (commits?.length === 1) return show(lines, limits);
  if (commits !== undefined) return { ...summarizeLog(commits, limits), matchCount: commits.length };
  if (!args.includes("--oneline") || args.includes("--graph")) return undefined;
  const isCommit = (line: string): boolean => /^[0-9a-f]{4,64} /.test(line);
  if (!lines.every(isCommit)) return undefined;
  const title = `[${plural(lines.length, "commit")}]`;
  const summary = headAndTail(lines, { ...limits, maxTokens: limits.maxTokens - 10 }, { head: 0.9 });
  return { text: `${title}\n${summary.text}`, matchCount: lines.length, truncated: summary.truncated };
};

const summarizeGit = (ran: Ran, limits: EnrichLimits): Enriched | undefined => {
  const [command, args] = splitArgs(ran.argv.slice(1));
  const text = plainText(ran.stdout);
  const lines = splitLines(text);
  if (lines.length === 0) return undefined;
  switch (command) {
    case "status":
      return status(lines, limits);
    case "diff":
      return diff(lines, args, limits);
    case "log":
    case "reflog":
      return log(lines, args, limits);
    case "show":
      if (isPatch(lines[0])) return diff(lines, args, limits);
      return show(lines, limits) ?? (fits(text, limits) ? undefined : cat.enrich(ran, limits));
    case "blame":
    case "annotate": {
      const summary = summarizeBlame(lines, limits);
      return summary === undefined ? undefined : { ...summary, matchCount: lines.length };
    }
    case "grep":
      return summarizeSearch("git", args, ran, limits);
    case "ls-files":
      return args.some((arg) => /^-(?:s|-stage|-eol|z|t|v)$/.test(arg))
        ? undefined
        : { ...summarizePaths(lines, limits, plural(lines.length, "file")), matchCount: lines.length };
    default:
      return undefined;
  }
};

export const git: Enricher = { name: "git", programs: ["git"], enrich: summarizeGit };
