import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BugReport, foldersOf } from "./localisation-set.ts";

/** The size that the time of an answer is promised for. */
export const MIN_CHUNKS = 20_000;

/** As many as the engine reads, and some more. */
const COMMITS = 320;
const FILES_OF_COMMIT = 4;
/** A page for every so many modules. */
const MODULES_OF_PAGE = 4;

/** Versions of all projects in turn, the newest of each first. */
export const versionsInTurn = (reports: readonly BugReport[]): readonly BugReport[] => {
  const byProject = [...Map.groupBy(reports, ({ project }) => project).values()].map((own) =>
    [...new Map(own.map((report) => [report.tree, report])).values()].reverse(),
  );
  const rounds = Math.max(0, ...byProject.map((own) => own.length));
  return Array.from({ length: rounds }, (_, round) => byProject.flatMap((own) => own[round] ?? [])).flat();
};

const pythonFiles = (folder: string): readonly string[] => globSync("**/*.py", { cwd: folder }).sort();

const DOCSTRING = /^\s*(?:#.*\n\s*)*r?"""([\s\S]*?)"""/;

/** The sets have no documents: pages are made of what the modules say about themselves. */
const writePages = (folder: string): void => {
  const docs = join(folder, "docs");
  mkdirSync(docs, { recursive: true });
  for (const [at, path] of pythonFiles(folder).entries()) {
    if (at % MODULES_OF_PAGE !== 0) continue;
    const text = DOCSTRING.exec(readFileSync(join(folder, path), "utf8"))?.[1]?.trim() ?? "";
    if (text === "") continue;
    const name = path.replace(/\.py$/, "").replaceAll("/", ".");
    writeFileSync(join(docs, `${name}.md`), `# ${name}\n\nThe module \`${name}\`.\n\n${text}\n`);
  }
};

/** Puts one version of a project into the workspace, with its pages, unless it is there already. */
export const addVersion = (cache: string, workspace: string, report: BugReport): void => {
  // One folder more than in the project, so that paths of traces still mean its files.
  const into = join(workspace, report.tree);
  if (existsSync(into)) return;
  const from = foldersOf(cache, report).workspace;
  cpSync(from, into, { recursive: true, filter: (path) => !path.includes("/.llmc") });
  writePages(into);
};

const oneCommit = (number: number, paths: readonly string[]): string =>
  [
    "commit refs/heads/main",
    `committer a <a@b> ${1_700_000_000 + number} +0000`,
    "data 1",
    "x",
    // Only names and the ids of contents are read, so a number is content enough.
    ...paths.flatMap((path) => [`M 100644 inline ${path}`, `data ${String(number).length}`, String(number)]),
    "",
  ].join("\n");

/** A repository whose commits each change a few neighbouring files, unless there is one. */
export const writeHistory = (workspace: string): void => {
  if (existsSync(join(workspace, ".git"))) return;
  const paths = pythonFiles(workspace).filter((path) => /^[\w./-]+$/.test(path));
  const changes = Array.from({ length: COMMITS }, (_, number) => {
    const from = (number * 37) % Math.max(1, paths.length - FILES_OF_COMMIT);
    return paths.slice(from, from + FILES_OF_COMMIT);
  });
  const git = (input: string, ...args: readonly string[]) =>
    execFileSync("git", args, { cwd: workspace, input, stdio: ["pipe", "ignore", "inherit"] });
  git("", "init", "--quiet", "--initial-branch=main");
  const commits = [paths, ...changes].map((changed, number) => oneCommit(number, changed));
  git(`${commits.join("\n")}\n`, "fast-import", "--quiet");
};

export const togetherFolders = (cache: string) => {
  const folders = {
    workspace: join(cache, "together", "all"),
    userState: join(cache, "together", "all-state"),
  };
  mkdirSync(folders.workspace, { recursive: true });
  mkdirSync(folders.userState, { recursive: true });
  return folders;
};
