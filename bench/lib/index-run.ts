import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { userFolders } from "../../src/config/user-folders.ts";
import { createThreadRetrieval } from "../../src/retrieve/thread-retrieval.ts";
import { peakMb } from "./resident.ts";

/** The parameters of a run, as JSON in its only argument. */
export interface IndexRun {
  readonly workspace: string;
  readonly threads: number;
  readonly queries: readonly string[];
  /** Files that are edited one after the other, each followed by a question for what was added. */
  readonly edited: readonly string[];
}

/** What it prints, as JSON. */
export interface IndexRunResult {
  readonly files: number;
  readonly chunks: number;
  readonly bytes: number;
  readonly indexMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly queryMs: readonly number[];
  readonly editMs: readonly number[];
  /** Questions after an edit whose answer did not show it. */
  readonly missed: number;
}

const run = JSON.parse(process.argv[2] ?? "{}") as IndexRun;
const { workspace, threads, queries, edited } = run;
const settings = { roots: ["."], denylist: [], maxFileBytes: 8 * 1024 * 1024, watch: true, threads };
const retrieval = createThreadRetrieval({
  workspace,
  userState: userFolders(process.env, homedir()).state,
  settings: () => settings,
  onWarning: () => {},
});
const ask = (query: string) => retrieval.search({ query, scope: "repo", k: 5, budgetTokens: 2000 });

const cpuBefore = process.cpuUsage();
// Without the start of the engine, which a server has once; with the start of the threads that parse.
const report = await retrieval.index({});
const { user, system } = process.cpuUsage(cpuBefore);

const queryMs: number[] = [];
for (const query of queries) {
  const askedMs = performance.now();
  await ask(query);
  queryMs.push(performance.now() - askedMs);
}

const editMs: number[] = [];
let missed = 0;
for (const [i, path] of edited.entries()) {
  const file = join(workspace, path);
  const before = readFileSync(file, "utf8");
  // One word that nobody has: what is measured is whether the edit is in, not how it ranks.
  const word = `quxzel${String.fromCharCode(97 + (i % 26)).repeat(2 + i / 26)}`;
  appendFileSync(file, `\n${word}\n`);
  const editedMs = performance.now();
  const { value } = await ask(word);
  editMs.push(performance.now() - editedMs);
  if (!value.some(({ text }) => text.includes(word))) missed++;
  writeFileSync(file, before);
}

const result: IndexRunResult = {
  files: report.files,
  chunks: report.chunks,
  bytes: report.readBytes,
  indexMs: report.tookMs,
  cpuMs: (user + system) / 1000,
  peakMb: await peakMb(process.pid),
  queryMs,
  editMs,
  missed,
};
process.stdout.write(JSON.stringify(result));
await retrieval.close();
