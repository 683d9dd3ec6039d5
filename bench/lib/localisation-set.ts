import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A bug report, and the files that were changed to fix it. */
export interface BugReport {
  readonly id: string;
  readonly project: string;
  /** The version of the project; several reports may share it. */
  readonly tree: string;
  readonly text: string;
  readonly gold: ReadonlySet<string>;
}

export interface LocalisationSet {
  readonly reports: readonly BugReport[];
  /** Puts the project of each report, as it was before the fix, into a folder of its own, unless it is there already. */
  unpack(into: string): void;
}

const MAX_UNPACKED_BYTES = 1024 ** 3;

const readLines = <T>(path: string): readonly T[] =>
  (path.endsWith(".xz")
    ? execFileSync("xz", ["-dc", path], { encoding: "utf8", maxBuffer: MAX_UNPACKED_BYTES })
    : readFileSync(path, "utf8")
  )
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);

/** Where a report's project is, and where what belongs to its index is kept. */
export const foldersOf = (
  cache: string,
  { tree }: BugReport,
): { readonly workspace: string; readonly userState: string } => ({
  workspace: join(cache, tree, "tree"),
  // As the program finds it below XDG_STATE_HOME, so that both use one index.
  userState: join(cache, tree, "state", "llmc"),
});

const unpack = (folder: string, into: string, reports: readonly BugReport[]): void => {
  const doneOf = ({ tree }: BugReport): string => join(into, tree, "done");
  if (reports.every((report) => existsSync(doneOf(report)))) return;
  const texts = new Map(
    readLines<{ readonly h: string; readonly t: string }>(join(folder, "blobs.jsonl.xz")).map(({ h, t }) => [
      h,
      t,
    ]),
  );
  const trees = new Map(
    readLines<{ readonly _id: string; readonly files: Readonly<Record<string, string>> }>(
      join(folder, "trees.jsonl.xz"),
    ).map(({ _id, files }) => [_id, files]),
  );
  for (const report of reports) {
    if (existsSync(doneOf(report))) continue;
    const { workspace, userState } = foldersOf(into, report);
    mkdirSync(userState, { recursive: true });
    for (const [path, hash] of Object.entries(trees.get(report.tree) ?? {})) {
      const file = join(workspace, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, texts.get(hash) ?? "");
    }
    writeFileSync(doneOf(report), "");
  }
};

/** Undefined where the set is not in the folder. */
export const readLocalisationSet = (folder: string): LocalisationSet | undefined => {
  const queries = join(folder, "queries.jsonl");
  if (!existsSync(queries)) return undefined;
  const reports = readLines<{
    readonly _id: string;
    readonly repo: string;
    readonly tree?: string;
    readonly text: string;
    readonly gold: readonly string[];
  }>(queries).map(({ _id, repo, tree = _id, text, gold }) => ({
    id: _id,
    project: repo,
    tree,
    text,
    gold: new Set(gold),
  }));
  return { reports, unpack: (into) => unpack(folder, into, reports) };
};

/** As the set's README counts: tests are no place for a fix. */
const TEST_FILE = /(?:^|\/)(?:tests?|testing)\/|(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/;

/** The distinct files of an answer, best first, without tests. */
export const filesOf = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].filter((path) => !TEST_FILE.test(path));

/** Whether all files that were changed are among the first k. */
export const isFoundAt = (files: readonly string[], gold: ReadonlySet<string>, k: number): boolean => {
  const first = new Set(files.slice(0, k));
  return [...gold].every((path) => first.has(path));
};
