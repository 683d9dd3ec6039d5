import { z } from "zod";
import {
  graphMeta,
  mentionsShape,
  renderMentions,
  renderNotes,
  renderSymbol,
  renderUnknown,
  symbolShape,
  toGraphMeta,
  toMentions,
  toSymbol,
} from "./rag-shape.ts";
import { defineTool } from "./tool.ts";

const node = symbolShape.extend({ depth: z.int() });
const edge = z.object({
  from: z.int(),
  to: z.int(),
  lines: z.array(z.int()),
  confidence: z.number(),
});

export const ragLineage = defineTool({
  name: "rag_lineage",
  description: "Who calls a symbol and what it calls.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({
    symbol: z.string().min(1).max(1024),
    direction: z.enum(["callers", "callees", "both"]).default("both"),
    depth: z.int().min(1).max(10).default(2),
    limit: z.int().min(1).max(500).default(60).describe("max symbols"),
  }),
  output: z.object({
    data: z.object({ nodes: z.array(node), edges: z.array(edge), mentions: mentionsShape }),
    meta: z.object({ ...graphMeta, truncated: z.boolean() }),
  }),
  run: async ({ symbol, direction, depth, limit }, { retrieval }, { signal }) => {
    const answer = await retrieval.lineage(symbol, { direction, depth, limit }, signal);
    const { nodes, edges, truncated, mentions } = answer.value;
    return {
      data: {
        nodes: nodes.map((one) => ({ ...toSymbol(one), depth: one.depth })),
        edges: edges.map(({ from, to, lines, confidence }) => ({ from, to, lines: [...lines], confidence })),
        mentions: toMentions(mentions),
      },
      meta: { ...toGraphMeta(answer), truncated },
    };
  },
  render: ({ data: { nodes, edges, mentions }, meta }) => {
    if (nodes.length === 0) return [renderUnknown(meta, mentions), ...renderNotes(meta.notes)].join("\n");
    const nameOf = (index: number): string => nodes[index]?.name ?? "?";
    return [
      ...nodes.map((one) => `${one.depth === 0 ? "*" : one.depth < 0 ? "<" : ">"} ${renderSymbol(one)}`),
      ...(edges.length === 0 && mentions.unresolved === 0 ? ["[no calls]"] : []),
      ...edges.map(({ from, to, lines }) => `${nameOf(from)} -> ${nameOf(to)} @${lines.join(",")}`),
      ...renderMentions(mentions.total - mentions.unresolved, mentions),
      ...(meta.truncated ? ["[more: raise limit or lower depth]"] : []),
      ...renderNotes(meta.notes),
    ].join("\n");
  },
});
