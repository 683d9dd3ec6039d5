import { plural } from "../base/text.ts";
import type { Core } from "../core/core.ts";
import { callAsking, requestOf } from "./call-command.ts";
import { bold, type Io } from "./io.ts";

interface RlmOptions {
  readonly args: Readonly<Record<string, unknown>>;
  readonly json: boolean;
  readonly allow: (names: readonly string[]) => Promise<void>;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

/** What the tool reports while it works: `turn 2 of 5 | 7 calls | $0.0123 of $1.00 | 0.1 turn turn 1/5`. */
const PROGRESS =
  /^turn (?<turn>\d+) of (?<turns>\d+) \| (?<calls>\d+) calls \| \$(?<spent>[\d.]+) of \$(?<budget>[\d.]+) \| (?<node>\S+) (?<kind>\w+) (?<detail>.*)$/;

const WIDTH = 20;
const EVERY_MS = 50;

const spendBar = (spent: number, budget: number): string => {
  const filled = Math.min(WIDTH, Math.round((WIDTH * spent) / budget));
  return `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} $${spent.toFixed(4)} of $${budget.toFixed(2)}`;
};

/** Calls of an analysis that have a line each; there may be hundreds, and the last line counts them all. */
const MAX_SHOWN_CALLS = 10;

/** What was begun and ended, as an indented tree. */
const treeLine = (node: string, kind: string, detail: string, calls: number): string | undefined => {
  const indent = "  ".repeat(node.split(".").length - 1);
  if (kind === "call" && calls <= MAX_SHOWN_CALLS) return `${indent}  call ${detail}`;
  if (kind === "call" && calls === MAX_SHOWN_CALLS + 1) return `${indent}  more calls \u2026`;
  if (kind === "turn") return `${indent}${node}  ${detail}`;
  if (kind === "child" && node !== "0") return `${indent}${node}  analysis with ${detail}`;
  if (kind === "end") return `${indent}${node}  ended: ${detail}`;
  return undefined;
};

/** The tree as it grows, with the spending on the last line; nothing where stderr is no terminal. */
const createLiveView = (io: Io, now: () => number) => {
  let shownAt = Number.NEGATIVE_INFINITY;
  const callsOf = new Map<string, number>();
  return {
    show: (message: string): void => {
      const found = PROGRESS.exec(message)?.groups;
      if (!io.canRedraw || found === undefined) return;
      const { turn, turns, calls, spent, budget, node = "", kind = "", detail = "" } = found;
      if (kind === "call") callsOf.set(node, (callsOf.get(node) ?? 0) + 1);
      const line = treeLine(node, kind, detail, callsOf.get(node) ?? 0);
      if (line !== undefined) {
        io.redraw("");
        io.err(`${line}\n`);
      } else if (now() - shownAt < EVERY_MS) return;
      shownAt = now();
      io.redraw(`${spendBar(Number(spent), Number(budget))}  turn ${turn}/${turns}  ${calls} calls`);
    },
    clear: (): void => {
      if (io.canRedraw) io.redraw("");
    },
  };
};

interface Answered {
  readonly data: {
    readonly answer: string;
    readonly budget_summary: Readonly<Record<string, unknown>>;
    readonly evidence?: readonly { readonly line: number; readonly text: string }[];
  };
  readonly meta: Readonly<Record<string, unknown>>;
}

const MAX_EVIDENCE_CHARS = 120;

const showAnswer = ({ data, meta }: Answered, io: Io): void => {
  io.data(`${data.answer}\n`);
  const { total_cost_usd: cost, calls, turns } = data.budget_summary;
  const evidence = (data.evidence ?? []).map(
    ({ line, text }) => `  line ${line}: ${text.replaceAll("\n", " ").slice(0, MAX_EVIDENCE_CHARS)}\n`,
  );
  if (evidence.length > 0) io.err(`${bold("Evidence", io.hasColours)}\n${evidence.join("")}`);
  if (meta["partial"] === true)
    io.err(`note: a limit ended the analysis (${String(meta["limit"])}); this is its last draft.\n`);
  io.err(
    `${plural(Number(turns), "turn")}, ${plural(Number(calls), "call")}, $${Number(cost).toFixed(4)}, ${String(meta["model_used"])}\n`,
  );
};

/** Calls rlm_query like any client, and shows a person how it goes. Gives the name of the trace, if there is one. */
export const runRlmQuery = async (core: Core, io: Io, options: RlmOptions): Promise<string | undefined> => {
  const view = createLiveView(io, options.now);
  const onProgress = (_done: number, _total?: number, message = ""): void => view.show(message);
  const request = requestOf(core, { ...options, tool: "rlm_query" }, options.args, onProgress);
  const result = await callAsking(core, request, io, options.allow);
  view.clear();
  if (result.kind === "ok") {
    const output = result.structured as Answered;
    if (options.json) io.data(`${JSON.stringify(output)}\n`);
    else showAnswer(output, io);
    return output.meta["trace_file"] as string | undefined;
  }
  if (options.json) io.data(`${JSON.stringify(result.body)}\n`);
  throw result.error;
};

const show = (value: unknown): string =>
  value === null ? "unknown (no price)" : `$${Number(value).toFixed(4)}`;

const whyWorst = (worst: unknown): string => {
  if (worst === null) return "so budget_usd cannot hold";
  return worst === 0 ? "because its models cost nothing" : "its budget";
};

/** What an analysis could cost, for people or as JSON. */
export const showEstimate = (estimate: Readonly<Record<string, unknown>>, io: Io, json: boolean): void => {
  if (json) {
    io.data(`${JSON.stringify(estimate)}\n`);
    return;
  }
  io.out(`Nothing was sent. In the worst case:
  first call of ${String(estimate["root_model"])}: ${show(estimate["first_call_usd"])}
  one sub-call of ${String(estimate["sub_model"])} about ${String(estimate["sub_call_chars"])} characters: ${show(estimate["sub_call_usd"])}
  the whole analysis: ${show(estimate["worst_case_usd"])}, ${whyWorst(estimate["worst_case_usd"])}
  for comparison, all ${String(estimate["context_bytes"])} bytes in one prompt: ${show(estimate["one_prompt_usd"])}
`);
};
