import { spawnSync } from "node:child_process";
import { enrich } from "../src/envelope/enrich/all.ts";
import type { Enriched, EnrichLimits, Ran } from "../src/envelope/enrich/contract.ts";

type Argv = readonly [string, ...string[]];

const limits = (maxTokens = 2000): EnrichLimits => ({ maxTokens });

/** What the envelope would make of an output. */
export const summarize = (
  command: string,
  stdout: string,
  extra: Partial<Ran> & { readonly maxTokens?: number } = {},
): Enriched | undefined => {
  const [program = "", ...rest] = command.split(" ");
  const { maxTokens, ...ran } = extra;
  return enrich(
    { argv: [program, ...rest], stdout, stderr: "", exitCode: 0, cut: false, ...ran },
    limits(maxTokens),
  );
};

/** The same for a command that really runs; undefined where the program is not on this machine. */
export const summarizeReal = (
  argv: Argv,
  cwd: string,
  maxTokens?: number,
): { readonly raw: string; readonly summary: Enriched | undefined } | undefined => {
  const [program, ...rest] = argv;
  const { stdout, stderr, status, error } = spawnSync(program, rest, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (error !== undefined) return undefined;
  const ran = { argv, stdout, stderr, exitCode: status ?? -1, cut: false };
  return { raw: stdout, summary: enrich(ran, limits(maxTokens)) };
};
