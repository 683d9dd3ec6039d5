import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { Figures, Report } from "./report.ts";

interface Saved {
  readonly run: Figures;
  readonly figures: Figures;
}

const git = (repository: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-C", repository, ...args], { encoding: "utf8" }).trim();

const describeRun = (repository: string): Figures => ({
  date: new Date().toISOString(),
  node: process.versions.node,
  cpus: cpus().length,
  cpu: cpus()[0]?.model.trim() || "unknown",
  memory_gb: Math.round(totalmem() / 2 ** 30),
  // Figures of a tree that differs from its commit belong to neither.
  uncommitted: git(repository, "status", "--porcelain", "--", "src", "bin", "package-lock.json") !== "",
});

/** Adds the reports to the file of this commit; what was not measured this time keeps its figures. Returns its path. */
export const saveResults = (repository: string, reports: ReadonlyMap<string, Report>): string => {
  const folder = join(repository, "bench", "results");
  const path = join(folder, `${git(repository, "rev-parse", "--short", "HEAD")}.json`);
  const kept = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, Saved>) : {};
  const run = describeRun(repository);
  const added = [...reports].map(
    ([name, { figures }]) => [name, { run, figures: { ...kept[name]?.figures, ...figures } }] as const,
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `${JSON.stringify({ ...kept, ...Object.fromEntries(added) }, null, 2)}\n`);
  return path;
};
