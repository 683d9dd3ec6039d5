import { posix } from "node:path";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";
import { type FileFilter, nameArgs } from "./args.ts";
import { findBelow } from "./check.ts";
import type { IgnoredName, NameQuery } from "./contract.ts";
import { createNameRanker } from "./rank-names.ts";
import { createNameParser } from "./records.ts";
import { type RipgrepRun, runRipgrep } from "./ripgrep.ts";

/** Files of exactly the wanted name that a search with ignore rules does not see. */
export interface HiddenNames {
  /** Hidden by a dot alone, below the root: whoever gives the exact name means them. */
  readonly hidden: readonly string[];
  readonly ignored: readonly IgnoredName[];
}

export const NO_HIDDEN: HiddenNames = { hidden: [], ignored: [] };

/** Enough to answer with; a name that stands in a thousand packages is not asked for. */
const MAX_NAMES = 10;

/** Whether a pattern looks like the whole name of a file: where nothing has it, an ignore rule is the likely reason. */
export const isWholeName = (pattern: string): boolean => /[./]/.test(pattern);

interface HiddenSearch {
  readonly query: NameQuery;
  readonly filter: FileFilter;
  readonly root: Located;
  readonly refuseRead: Reach["refuseRead"];
  /** Of a path below the root: whether the caller may see that it is there. */
  readonly mayShow: (path: string) => boolean;
  /** Real path. */
  readonly workspace: string;
  readonly shown: (path: string) => string;
  readonly run: Pick<RipgrepRun, "rgPath" | "timeoutMs" | "signal">;
}

/** Only what the caller may see, and what is really there: the answer names it, whatever the rules about it say. */
const findAll = async ({ query, filter, root, mayShow, run }: HiddenSearch): Promise<ReadonlySet<string>> => {
  const rank = createNameRanker(query.pattern);
  const found = new Set<string>();
  await runRipgrep({
    ...run,
    args: nameArgs({ ...query, ignoreFiles: false }, filter, root.realPath),
    cwd: root.at,
    take: createNameParser((bytes) => {
      const path = bytes.toString("utf8", 2);
      if (found.size >= MAX_NAMES || path.includes("\uFFFD") || !filter.isMeant(path)) return;
      if (rank(path)?.rank === "exact" && mayShow(path)) found.add(path);
    }),
  });
  const names = [...found].map((path) => Buffer.from(path));
  return new Set([...findBelow(root, names)].map(String));
};

// What ripgrep says with --debug of everything that it leaves out. Both strings are written as in Rust.
const IGNORING =
  /: ignoring \.\/(.*?): Ignore\(IgnoreMatch\(\w+\(Glob \{ from: Some\("(.*?)"\), original: "(.*?)", actual: /;

/** A rule is a line of its file: of one that the caller may not read, or above the roots, only that there is one. */
const shownRule = (rule: string, file: string, { root, refuseRead }: HiddenSearch): string => {
  const found = resolveLinks(posix.resolve(root.realPath, file));
  const isClosed = found === undefined || refuseRead(found.real, "content", found.stats) !== undefined;
  return isClosed ? "a rule" : rule;
};

/** The ignore file as a caller may see it: it shows no path outside the workspace. */
const shownRuleFile = (file: string, { root, workspace, shown }: HiddenSearch): string => {
  if (file.startsWith("./")) return shown(file.slice(2));
  const real = posix.resolve(root.realPath, file);
  return real.startsWith(`${workspace}/`)
    ? shownPath(real, workspace)
    : `${posix.basename(file)} above the workspace`;
};

/** A second walk that sees hidden files and obeys ignore rules, and tells what each of them leaves out. */
const explain = async (
  wanted: ReadonlySet<string>,
  search: HiddenSearch,
): Promise<{ readonly seen: ReadonlySet<string>; readonly rules: ReadonlyMap<string, string> }> => {
  const { query, filter, root, run } = search;
  const seen = new Set<string>();
  const rules = new Map<string, string>();
  let rest = "";
  await runRipgrep({
    ...run,
    args: ["--debug", "--hidden", ...nameArgs(query, filter, root.realPath)],
    cwd: root.at,
    ignoreRoot: root.realPath,
    take: createNameParser((bytes) => {
      const path = bytes.toString("utf8", 2);
      if (wanted.has(path)) seen.add(path);
    }),
    takeError: (text) => {
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, path, file = "", rule = ""] = IGNORING.exec(line) ?? [];
        if (path === undefined) continue;
        const isOnTheWay = [...wanted].some((name) => name === path || name.startsWith(`${path}/`));
        if (isOnTheWay) rules.set(path, `${shownRule(rule, file, search)} in ${shownRuleFile(file, search)}`);
      }
    },
  });
  return { seen, rules };
};

/** The rule that hides a file, or the nearest folder above it. */
const ruleFor = (path: string, rules: ReadonlyMap<string, string>): string => {
  for (let at = path; at !== "." && at !== "/"; at = posix.dirname(at)) {
    const rule = rules.get(at);
    if (rule !== undefined) return rule;
  }
  return "an ignore rule";
};

/** Looks for a name that a search did not find, among what is hidden and ignored. */
export const findHiddenNames = async (search: HiddenSearch): Promise<HiddenNames> => {
  const wanted = await findAll(search);
  if (wanted.size === 0) return NO_HIDDEN;
  const { seen, rules } = await explain(wanted, search);
  return {
    hidden: [...wanted].filter((path) => seen.has(path)).sort(),
    ignored: [...wanted]
      .filter((path) => !seen.has(path))
      .sort()
      .map((path) => ({ path: search.shown(path), rule: ruleFor(path, rules) })),
  };
};
