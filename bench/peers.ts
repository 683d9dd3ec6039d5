import { COMMANDER_REST_MS, isComplete, PAGE, resultsOn, searchCommander } from "./lib/commander-search.ts";
import { type Lane, type LaneResult, lanesFigures, lanesTable, pairedRatio, runLanes } from "./lib/lanes.ts";
import { type RunningPeers, startPeers } from "./lib/peers.ts";
import { pinTogether } from "./lib/pin.ts";
import { findByPlainRg, searchByPlainRg } from "./lib/plain-rg.ts";
import type { Benchmark, Figures } from "./lib/report.ts";
import { llmc, type ServerProcess, startServer, type ToolArguments } from "./lib/server-process.ts";
import { round } from "./lib/stats.ts";
import { createTree, type Tree } from "./lib/tree.ts";

interface Target {
  /** The lane that must meet it. */
  readonly lane: string;
  /** Against the fastest of these. */
  readonly against: readonly string[];
  /** Left out: for information. */
  readonly maxRatio: number | undefined;
}

interface Operation {
  readonly name: string;
  readonly isFast: boolean;
  readonly lanes: readonly Lane[];
  readonly targets: readonly Target[];
}

const OFFICIAL = "official";
const COMMANDER = "Desktop Commander";
const PEER_LANES = [OFFICIAL, COMMANDER];
const RG = "plain rg";

const READ_LINES = 200;

/** It takes a hundred times as long as the others, and what it waits for is no compiler. */
const COMMANDER_WARM_UP = 5;

const tool = (server: ServerProcess, name: string, args: ToolArguments) => ({
  once: () => server.call(name, args),
});

/** A lane for a peer that runs, none for one that does not. */
const officialLane = (
  peers: RunningPeers,
  once: (server: ServerProcess) => () => Promise<number>,
): readonly Lane[] => {
  const server = peers.get("official");
  return server === undefined ? [] : [{ name: OFFICIAL, once: once(server) }];
};

const commanderLane = (
  peers: RunningPeers,
  once: (server: ServerProcess) => () => Promise<number>,
  name = COMMANDER,
): readonly Lane[] => {
  const server = peers.get("commander");
  const pace = { warmUp: COMMANDER_WARM_UP, batch: 1, restMs: COMMANDER_REST_MS };
  return server === undefined ? [] : [{ name, once: once(server), ...pace }];
};

const fastOperations = (tree: Tree, ours: ServerProcess, peers: RunningPeers): readonly Operation[] => {
  const file = `${tree.path}/${tree.source.path}`;
  const operation = (
    name: string,
    calls: {
      readonly official: readonly [string, ToolArguments];
      readonly commander: readonly [string, ToolArguments];
      /** The first has to meet the target. */
      readonly ours: readonly (readonly [string, ToolArguments])[];
    },
  ): Operation => ({
    name,
    isFast: true,
    lanes: [
      ...officialLane(peers, (server) => () => server.call(...calls.official)),
      ...commanderLane(peers, (server) => () => server.call(...calls.commander)),
      ...calls.ours.map(([toolName, args]) => ({ name: `llmc ${toolName}`, ...tool(ours, toolName, args) })),
    ],
    targets: calls.ours.map(([toolName], at) => ({
      lane: `llmc ${toolName}`,
      against: PEER_LANES,
      maxRatio: at === 0 ? 1.25 : undefined,
    })),
  });
  return [
    operation(`read ${READ_LINES} lines`, {
      official: ["read_text_file", { path: file, head: READ_LINES }],
      commander: ["read_file", { path: file, offset: 0, length: READ_LINES }],
      ours: [
        ["read_file", { path: tree.source.path, limit: READ_LINES }],
        ["linux_fs_read", { path: tree.source.path, max_lines: READ_LINES }],
      ],
    }),
    operation("list the root", {
      official: ["list_directory", { path: tree.path }],
      commander: ["list_directory", { path: tree.path, depth: 1 }],
      ours: [
        ["list_dir", { path: "." }],
        ["linux_fs_list", { path: ".", depth: 0, include_hidden: true }],
      ],
    }),
    operation("stat", {
      official: ["get_file_info", { path: file }],
      commander: ["get_file_info", { path: file }],
      ours: [["stat", { path: tree.source.path }]],
    }),
  ];
};

const slowOperations = (tree: Tree, ours: ServerProcess, peers: RunningPeers): readonly Operation[] => {
  const { name, path } = tree.unique;
  const find: Operation = {
    name: "find a file by name",
    isFast: false,
    lanes: [
      { name: RG, once: () => findByPlainRg(tree.path, name) },
      ...officialLane(
        peers,
        (server) => () => server.call("search_files", { path: tree.path, pattern: `**/${name}` }),
      ),
      ...commanderLane(peers, (server) =>
        searchCommander(server, {
          args: { path: tree.path, pattern: name },
          isEnough: (text) => text.includes(path),
        }),
      ),
      { name: "llmc", ...tool(ours, "linux_search_files", { root: ".", pattern: name }) },
    ],
    targets: [
      { lane: "llmc", against: PEER_LANES, maxRatio: 1 },
      { lane: "llmc", against: [RG], maxRatio: 1.3 },
    ],
  };
  const search = (contextLines: number): Operation => {
    const args = { path: tree.path, pattern: tree.method, searchType: "content", contextLines };
    return {
      name: `content search, ${contextLines} lines of context`,
      isFast: false,
      lanes: [
        { name: RG, once: () => searchByPlainRg(tree.path, tree.method, { contextLines, page: PAGE }) },
        ...commanderLane(peers, (server) =>
          searchCommander(server, {
            args,
            isEnough: (text) => isComplete(text) && resultsOn(text) >= PAGE,
          }),
        ),
        ...commanderLane(
          peers,
          (server) => searchCommander(server, { args, isEnough: (text) => resultsOn(text) >= PAGE }),
          `${COMMANDER}, not all counted`,
        ),
        {
          name: "llmc",
          ...tool(ours, "linux_search_content", {
            root: ".",
            pattern: tree.method,
            context_lines: contextLines,
            max_results: PAGE,
          }),
        },
      ],
      targets: [
        { lane: "llmc", against: [RG], maxRatio: 1.3 },
        { lane: "llmc", against: [COMMANDER], maxRatio: 1 },
      ],
    };
  };
  return [find, search(0), search(3)];
};

const judge = (
  { lane, against, maxRatio }: Target,
  results: readonly LaneResult[],
): { readonly summary: string; readonly ratio: number | undefined; readonly base: string } => {
  const own = results.find(({ name }) => name === lane);
  const [base] = results.filter(({ name }) => against.includes(name)).sort((a, b) => a.p50 - b.p50);
  if (own === undefined || base === undefined) {
    return { summary: `${lane}: nothing to compare with`, ratio: undefined, base: against.join(" or ") };
  }
  const ratio = pairedRatio(own, base);
  const verdict =
    maxRatio === undefined ? "no target" : `target ≤ ${maxRatio}: ${ratio <= maxRatio ? "met" : "MISSED"}`;
  return {
    summary: `${lane}: ${ratio.toFixed(2)} times ${base.name} (quiet ${(own.quiet / base.quiet).toFixed(2)}), ${verdict}`,
    ratio,
    base: base.name,
  };
};

const figuresOf = (operation: Operation, results: readonly LaneResult[]): Figures => ({
  lanes: lanesFigures(results),
  targets: Object.fromEntries(
    operation.targets.map((target) => {
      const { ratio, base } = judge(target, results);
      return [
        `${target.lane} to ${base}`,
        { target: target.maxRatio ?? null, paired_ratio: ratio === undefined ? null : round(ratio, 3) },
      ];
    }),
  ),
});

export const peers: Benchmark = {
  name: "peers",
  summary:
    "latency of reading, listing, stat and search, against the official filesystem server and Desktop Commander",
  needs: "the npm registry on first use, to install them into bench/.peers",
  run: async ({ program, quick }) => {
    await using tree = await createTree();
    await using others = await startPeers(tree.path);
    const ours = startServer(llmc(program, tree.path, "--mode", "classic"));
    const fastPlan = { warmUp: quick ? 100 : 2000, rounds: quick ? 5 : 200, batch: 5 };
    const slowPlan = { warmUp: quick ? 1 : 3, rounds: quick ? 3 : 25, batch: 1, restMs: 20 };
    const measured: { pass: string; operation: Operation; results: readonly LaneResult[] }[] = [];
    const measure = async (pass: string, operation: Operation): Promise<void> => {
      const results = await runLanes(operation.lanes, operation.isFast ? fastPlan : slowPlan);
      measured.push({ pass, operation, results });
    };
    try {
      await ours.handshake();
      const fast = fastOperations(tree, ours, others);
      for (const operation of fast) await measure("free", operation);
      const pids = [ours.pid, ...others.running.map(({ server }) => server.pid)];
      const unpin = pinTogether(pids);
      if (unpin !== undefined) for (const operation of fast) await measure("one_core", operation);
      unpin?.();
      for (const operation of slowOperations(tree, ours, others)) await measure("free", operation);
    } finally {
      await ours.close();
    }
    const passes = [...new Set(measured.map(({ pass }) => pass))];
    return {
      tables: measured.map(({ pass, operation, results }) =>
        lanesTable(results, `${pass}: ${operation.name}`, operation.isFast ? 3 : 1),
      ),
      notes: [
        ...others.missing,
        `${tree.files} generated files, ${tree.megabytes.toFixed(0)} MB: a stand-in for a checkout of Django`,
        ...measured.flatMap(({ pass, operation, results }) =>
          operation.targets.map((target) => `${pass}: ${operation.name}: ${judge(target, results).summary}`),
        ),
        "a target is against the faster peer (by p50), with the paired ratio of the two",
        `"not all counted": its first page without the totals, which llmc's answer has; not a target`,
      ],
      figures: {
        files: tree.files,
        megabytes: round(tree.megabytes, 1),
        missing: others.missing.join("; "),
        ...Object.fromEntries(
          passes.map((pass): [string, Figures] => [
            pass,
            Object.fromEntries(
              measured
                .filter((one) => one.pass === pass)
                .map(({ operation, results }) => [operation.name, figuresOf(operation, results)]),
            ),
          ]),
        ),
      },
    };
  },
};
