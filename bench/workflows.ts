import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { connectClient } from "./lib/mcp-client.ts";
import { startPeers } from "./lib/peers.ts";
import type { Benchmark, Figures } from "./lib/report.ts";
import { llmc, type ServerProcess } from "./lib/server-process.ts";
import { createTree, type Tree } from "./lib/tree.ts";
import { type Steps, type Use, WORKFLOWS, type Workflow } from "./lib/workflow-steps.ts";

interface Row {
  readonly workflow: Workflow;
  readonly ours: number;
  readonly commander: number | undefined;
  readonly official: number | undefined;
}

/** Of the whole, against Desktop Commander. */
const TARGET_BELOW = 0.5;

/** Tokens of a workflow with one server; the tree is as before afterwards. */
const spend = async (ask: Use, steps: Steps, tree: Tree): Promise<number> => {
  const edited = join(tree.path, tree.source.path);
  const before = await readFile(edited);
  let tokens = 0;
  try {
    await steps(async (tool, args) => {
      const text = await ask(tool, args);
      tokens += countTokens(JSON.stringify(args)) + countTokens(text);
      return text;
    }, tree);
  } finally {
    await writeFile(edited, before);
  }
  return tokens;
};

const better = ({ commander, official }: Row): number | undefined => {
  const known = [commander, official].filter((tokens) => tokens !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

const verdictOf = (row: Row): string => {
  const peer = better(row);
  if (peer === undefined) return "no peer";
  return row.ours <= peer ? "met" : `MISSED by ${row.ours - peer}`;
};

const total = (rows: readonly Row[], pick: (row: Row) => number | undefined): number =>
  rows.reduce((sum, row) => sum + (pick(row) ?? 0), 0);

const askOf =
  (server: ServerProcess): Use =>
  async (tool, args) =>
    (await server.ask(tool, args)).text;

const tokensOf = (rows: readonly Row[], id: string): number =>
  rows.find(({ workflow }) => workflow.id === id)?.ours ?? Number.NaN;

interface Measured {
  readonly rows: readonly Row[];
  readonly missing: readonly string[];
  /** What hybrid mode lists. */
  readonly tools: readonly string[];
}

const measure = async (program: string, tree: Tree): Promise<Measured> => {
  await using peers = await startPeers(tree.path);
  await using ours = await connectClient(llmc(program, tree.path, "--mode", "hybrid"));
  const [commander, official] = [peers.get("commander"), peers.get("official")];
  const withPeer = async (server: ServerProcess | undefined, steps: Steps | undefined) =>
    server === undefined || steps === undefined ? undefined : spend(askOf(server), steps, tree);
  const rows: Row[] = [];
  for (const workflow of WORKFLOWS) {
    rows.push({
      workflow,
      ours: await spend(ours.ask, workflow.ours, tree),
      commander: await withPeer(commander, workflow.commander),
      official: await withPeer(official, workflow.official),
    });
  }
  return { rows, missing: peers.missing, tools: ours.tools };
};

export const workflows: Benchmark = {
  name: "workflows",
  summary:
    "tokens (o200k_base) of arguments and text results of common tasks with hybrid mode's tools, against the same two servers",
  needs: "the npm registry on first use, to install them into bench/.peers",
  run: async ({ program }) => {
    await using tree = await createTree();
    const { rows, missing, tools } = await measure(program, tree);
    const counted = rows.filter(({ workflow }) => workflow.isAside !== true);
    const [sum, theirs] = [total(counted, (row) => row.ours), total(counted, (row) => row.commander)];
    const below = 1 - sum / theirs;
    const longer = tokensOf(rows, "W8 all") - tokensOf(rows, "W8");
    const belowWithAll = 1 - (sum + longer) / theirs;
    return {
      tables: [
        {
          head: ["workflow", "llmc", "Desktop Commander", "official", "verdict"],
          rows: [
            ...rows.map((row) => [
              `${row.workflow.id} ${row.workflow.summary}`,
              row.ours,
              row.commander ?? "–",
              row.official ?? "–",
              row.workflow.isAside ? "(aside)" : verdictOf(row),
            ]),
            ["total", sum, theirs, total(counted, (row) => row.official), ""],
          ],
        },
      ],
      notes: [
        ...missing,
        `${tree.files} generated files, ${tree.megabytes.toFixed(0)} MB at ${tree.path}: a stand-in for a checkout of Django`,
        theirs === 0
          ? "nothing to compare the total with"
          : `total: ${(below * 100).toFixed(1)} % below Desktop Commander, target at least ${TARGET_BELOW * 100} %: ${below >= TARGET_BELOW ? "met" : "MISSED"}; with every name of W8: ${(belowWithAll * 100).toFixed(1)} %`,
        "each workflow: at most the better peer",
        `llmc in hybrid mode, through the official client, with the listed tools alone: ${tools.join(", ")}`,
      ],
      figures: {
        below_commander: theirs === 0 ? null : Number(below.toFixed(4)),
        below_commander_all_names: theirs === 0 ? null : Number(belowWithAll.toFixed(4)),
        missing: missing.join("; "),
        mode: "hybrid",
        listed: tools.join(" "),
        tokens: Object.fromEntries(
          rows.map(({ workflow, ours, commander, official }): [string, Figures] => [
            workflow.id,
            { ours, commander: commander ?? null, official: official ?? null },
          ]),
        ),
      },
    };
  },
};
