import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { escapeHtml } from "../base/text.ts";
import type { Spending } from "../llm/budget.ts";
import type { TurnCounts } from "./contract.ts";
import type { TracedCall, TracedNode, TracedText, TracedTurn } from "./trace.ts";
import { TRACE_VERSION } from "./trace-file.ts";

/** What `renderTrace` writes. */
interface TraceFile {
  readonly session_id: string;
  readonly root_model: string;
  readonly sub_model: string;
  readonly outcome: string;
  readonly is_partial: boolean;
  readonly trajectory: string;
  readonly spending: Spending;
  readonly counts: TurnCounts;
  readonly nodes: readonly TracedNode[];
}

const noTrace = (cause: unknown): LlmcError =>
  new LlmcError("invalid_args", "The file is not a trace of an analysis.", {
    hint: "llmc rlm query --trace FILE writes one.",
    cause,
  });

export const parseTrace = (text: string): TraceFile => {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (cause) {
    throw noTrace(cause);
  }
  if (!isRecord(read) || read["llmc_trace"] !== TRACE_VERSION || !Array.isArray(read["nodes"]))
    throw noTrace(undefined);
  return read as unknown as TraceFile;
};

const usd = (value: number | undefined): string =>
  value === undefined ? "price unknown" : `$${value.toFixed(6)}`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

interface View {
  /** Show tasks, programs, outputs, prompts and answers, where the trace has them. */
  readonly showsText: boolean;
  readonly totalMs: number;
}

const block = (title: string, traced: TracedText | undefined, { showsText }: View): string => {
  if (traced === undefined) return "";
  const body =
    showsText && traced.text !== undefined
      ? `<pre>${escapeHtml(traced.text)}</pre>`
      : `<p class="hidden">${escapeHtml(traced.chars)} characters, sha256 begins with ${escapeHtml(traced.sha256)}</p>`;
  return `<div class="text"><h4>${title}</h4>${body}</div>`;
};

const bar = (kind: string, startMs: number, endMs: number, { totalMs }: View, title: string): string => {
  const left = (100 * startMs) / totalMs;
  const width = Math.max(0.2, (100 * (endMs - startMs)) / totalMs);
  return `<span class="bar ${kind}" style="left:${left.toFixed(3)}%;width:${width.toFixed(3)}%" title="${escapeHtml(title)}"></span>`;
};

const track = (label: string, bars: string): string =>
  `<div class="track"><span class="label">${escapeHtml(label)}</span><span class="bars">${bars}</span></div>`;

const timelineOf = (nodes: readonly TracedNode[], view: View): string =>
  nodes
    .map(({ id, turns, calls }) =>
      track(
        id,
        [
          ...turns.flatMap(({ turn, startMs, repliedMs, endMs }) => [
            bar(
              "model",
              startMs,
              repliedMs ?? endMs,
              view,
              `turn ${turn}: the model, ${seconds((repliedMs ?? endMs) - startMs)}`,
            ),
            bar(
              "program",
              repliedMs ?? endMs,
              endMs,
              view,
              `turn ${turn}: the program, ${seconds(endMs - (repliedMs ?? endMs))}`,
            ),
          ]),
          ...calls.map(({ id: call, startMs, endMs, error }) =>
            bar(
              error === undefined ? "call" : "failed",
              startMs,
              endMs,
              view,
              `call ${call}, ${seconds(endMs - startMs)}`,
            ),
          ),
        ].join(""),
      ),
    )
    .join("");

const costOf = ({ costUsd, inputTokens, outputTokens }: TracedTurn | TracedCall): string =>
  `${escapeHtml(inputTokens ?? "?")} + ${escapeHtml(outputTokens ?? "?")} tokens, ${usd(costUsd)}`;

const turnOf = (turn: TracedTurn, view: View): string =>
  `<details class="turn"${turn.problem === undefined ? "" : ' data-problem="1"'}><summary>turn ${escapeHtml(turn.turn)} <small>${seconds(turn.endMs - turn.startMs)}, ${costOf(turn)}${
    turn.problem === undefined ? "" : `, <b>${escapeHtml(turn.problem)}</b>`
  }</small></summary>${block("Program", turn.code, view)}${turn.code === undefined ? block("Reply", turn.reply, view) : ""}${block("Shown to the model", turn.output, view)}</details>`;

const callOf = (call: TracedCall, view: View): string =>
  `<details class="call"><summary>call ${escapeHtml(call.id)} <small>${escapeHtml(call.model)}, ${seconds(call.endMs - call.startMs)}, ${
    call.isRepeated === true ? "answered before" : costOf(call)
  }${call.error === undefined ? "" : `, <b>${escapeHtml(call.error)}</b>`}</small></summary>${block("Prompt", call.prompt, view)}${block("Answer", call.answer, view)}</details>`;

const totalOf = ({ turns, calls }: TracedNode): number =>
  [...turns, ...calls].reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);

/** The analyses that each one started, by its id. */
type Children = Map<string, readonly TracedNode[]>;

const childrenIn = (nodes: readonly TracedNode[]): Children =>
  Map.groupBy(nodes, ({ id }) => id.slice(0, Math.max(0, id.lastIndexOf("."))));

/** Each one once: a file of anybody's may give many the same id. */
const takeChildren = ({ id }: TracedNode, children: Children): readonly TracedNode[] => {
  const found = children.get(id) ?? [];
  children.delete(id);
  return found;
};

const nodeOf = (node: TracedNode, children: Children, view: View): string =>
  `<details class="node" open><summary>analysis ${escapeHtml(node.id)} <small>${escapeHtml(node.model)}, ${escapeHtml(node.contextBytes)} bytes, ${seconds(node.endMs - node.startMs)}, ${usd(totalOf(node))}, ${escapeHtml(node.outcome)}</small></summary>${block("Task", node.task, view)}${node.turns
    .map((turn) => turnOf(turn, view))
    .join("")}${node.calls.map((call) => callOf(call, view)).join("")}${takeChildren(node, children)
    .map((child) => nodeOf(child, children, view))
    .join("")}${block("Answer", node.answer, view)}</details>`;

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}h4{margin:.6rem 0 .2rem;font-size:.85rem;color:#57606a}
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .9rem .15rem 0;vertical-align:top}
details{border-left:2px solid #d0d7de;margin:.35rem 0;padding-left:.8rem}summary{cursor:pointer}small{color:#57606a}
pre{background:#f6f8fa;padding:.6rem;overflow:auto;max-height:24rem;white-space:pre-wrap;overflow-wrap:anywhere}
.hidden{color:#57606a;margin:0;font-size:.85rem}.track{display:flex;align-items:center;height:1.3rem}
.label{width:5rem;font-size:.8rem}.bars{position:relative;flex:1;height:.9rem;background:#f6f8fa}
.bar{position:absolute;top:0;height:100%;opacity:.85}.model{background:#0969da}.program{background:#8250df}.call{background:#1a7f37;height:50%}.failed{background:#cf222e;height:50%}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre,.bars{background:#161b22}details{border-color:#30363d}}`;

const row = (name: string, value: string): string => `<tr><th>${name}</th><td>${value}</td></tr>`;

const pageOf = (trace: TraceFile, showsText: boolean): string => {
  const { session_id, root_model, sub_model, outcome, is_partial, spending, counts, nodes, trajectory } =
    trace;
  const view = { showsText, totalMs: nodes.reduce((latest, { endMs }) => Math.max(latest, endMs), 1) };
  const roots = nodes.filter(({ depth }) => depth === 0);
  const children = childrenIn(nodes.filter(({ depth }) => depth > 0));
  const odd = Object.entries(counts)
    .filter(([name, count]) => name !== "turns" && count > 0)
    .map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`)
    .join(", ");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>Analysis ${escapeHtml(session_id)}</title><style>${STYLE}</style></head><body>
<h1>Analysis ${escapeHtml(session_id)}</h1>
<table>${row("Outcome", `<span id="outcome">${escapeHtml(outcome)}${is_partial ? " (partial answer)" : ""}</span>`)}${row("Models", `${escapeHtml(root_model)}, sub-calls ${escapeHtml(sub_model)}`)}${row("Cost", `<span id="cost">${usd(spending.costUsd)}</span> of ${usd(spending.budgetUsd)}, ${escapeHtml(spending.calls)} calls, ${escapeHtml(spending.inputTokens)} + ${escapeHtml(spending.outputTokens)} tokens`)}${row("Time", seconds(view.totalMs))}${row("Turns", `${escapeHtml(counts.turns)}${odd === "" ? "" : ` (${escapeHtml(odd)})`}`)}${row("Trajectory", escapeHtml(trajectory))}</table>
${showsText ? "" : '<p class="hidden">Texts are hidden; llmc rlm view --content shows those that the trace has.</p>'}
<h2>Timeline</h2><div id="timeline">${timelineOf(nodes, view)}</div>
<h2>Tree</h2><div id="tree">${roots.map((root) => nodeOf(root, children, view)).join("")}</div>
</body></html>
`;
};

/** A page of its own: no script, nothing that is loaded, nothing that leaves it. */
export const tracePage = (trace: TraceFile, showsText: boolean): string => {
  try {
    return pageOf(trace, showsText);
  } catch (cause) {
    // Anybody may have written the file: texts for numbers, analyses inside each other without end.
    throw noTrace(cause);
  }
};
