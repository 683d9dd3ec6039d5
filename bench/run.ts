import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { audit } from "./audit.ts";
import { commands } from "./commands.ts";
import { compare } from "./compare.ts";
import { confine } from "./confine.ts";
import { databaseSearch } from "./database-search.ts";
import { envelope } from "./envelope.ts";
import { firstHour } from "./first-hour.ts";
import { flood } from "./flood.ts";
import { front } from "./front.ts";
import { grammars } from "./grammars.ts";
import { graph } from "./graph.ts";
import { http } from "./http.ts";
import { httpFront } from "./http-front.ts";
import { index } from "./index.ts";
import { install } from "./install.ts";
import { knowledge } from "./knowledge.ts";
import { type Benchmark, type Report, renderTable } from "./lib/report.ts";
import { saveResults } from "./lib/results.ts";
import { localisation } from "./localisation.ts";
import { memory } from "./memory.ts";
import { mixed } from "./mixed.ts";
import { noop } from "./noop.ts";
import { observe } from "./observe.ts";
import { peers } from "./peers.ts";
import { policy } from "./policy.ts";
import { programs } from "./programs.ts";
import { questions } from "./questions.ts";
import { retrieval } from "./retrieval.ts";
import { rlm } from "./rlm.ts";
import { rlmReal } from "./rlm-real.ts";
import { start } from "./start.ts";
import { tokens } from "./tokens.ts";
import { trees } from "./trees.ts";
import { workflows } from "./workflows.ts";

const BENCHMARKS: readonly Benchmark[] = [
  start,
  noop,
  http,
  httpFront,
  observe,
  audit,
  policy,
  memory,
  flood,
  tokens,
  commands,
  confine,
  front,
  envelope,
  programs,
  rlm,
  rlmReal,
  retrieval,
  localisation,
  questions,
  mixed,
  knowledge,
  databaseSearch,
  index,
  trees,
  grammars,
  peers,
  workflows,
  graph,
  install,
  firstHour,
  compare,
];

const repository = fileURLToPath(new URL("..", import.meta.url));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean", short: "h", default: false },
    "no-save": { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    program: { type: "string" },
  },
});

const help = (): string => {
  const width = Math.max(...BENCHMARKS.map(({ name }) => name.length));
  return [
    "npm run bench -- [name…] [options]",
    "",
    ...BENCHMARKS.map(
      ({ name, summary, needs }) =>
        `  ${name.padEnd(width)}  ${summary}${needs === undefined ? "" : ` (only when named; needs ${needs})`}`,
    ),
    "",
    "  --no-save         do not write bench/results/<commit>.json",
    "  --quick           few rounds, to see that it works; never saved",
    "  --program <file>  another launcher, such as bin/llmc of another checkout; never saved",
    "",
    "bench/README.md says how to read the figures.",
  ].join("\n");
};

const chosen = (): readonly Benchmark[] => {
  if (names.length === 0) return BENCHMARKS.filter(({ needs }) => needs === undefined);
  return names.map((name) => {
    const found = BENCHMARKS.find((benchmark) => benchmark.name === name);
    if (found === undefined) throw new Error(`There is no benchmark ${name}; --help lists them.`);
    return found;
  });
};

const runAll = async (benchmarks: readonly Benchmark[]): Promise<void> => {
  const settings = {
    program: resolve(options.program ?? `${repository}/bin/llmc`),
    quick: options.quick,
  };
  const reports = new Map<string, Report>();
  for (const benchmark of benchmarks) {
    say(`\n${benchmark.name}: ${benchmark.summary}\n`);
    const report = await benchmark.run(settings);
    reports.set(benchmark.name, report);
    for (const table of report.tables) say(`${renderTable(table)}\n`);
    for (const note of report.notes) say(`- ${note}`);
  }
  if (options["no-save"] || options.quick || options.program !== undefined) return;
  say(`\nsaved to ${saveResults(repository, reports)}`);
};

try {
  if (options.help) say(help());
  else await runAll(chosen());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
