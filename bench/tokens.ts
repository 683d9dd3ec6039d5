import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Benchmark, Figures } from "./lib/report.ts";
import { llmc, startServer } from "./lib/server-process.ts";
import { createWorkspace } from "./lib/workspace.ts";

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
}

interface Cost {
  readonly tools: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly tokensWithOutput: number;
  /** Clients put the server's instructions into the prompt too. */
  readonly instructionTokens: number;
}

const MODES = ["classic", "hybrid", "code_execution"] as const;

/** Measured on 2026-11-15 by the same rule on another machine; a bare SDK server has nothing to compare. */
const PEERS: Readonly<
  Record<
    string,
    {
      readonly tools: number;
      readonly bytes: number;
      readonly tokens: number;
      readonly tokensWithOutput?: number;
    }
  >
> = {
  "Desktop Commander 0.2.52": { tools: 26, bytes: 60_079, tokens: 10_834, tokensWithOutput: 11_616 },
  "context-mode": { tools: 11, bytes: 29_767, tokens: 6475 },
  "playwright-mcp": { tools: 25, bytes: 20_296, tokens: 3764 },
  "official filesystem 2026.8.31": { tools: 14, bytes: 12_983, tokens: 1665, tokensWithOutput: 2825 },
  qmd: { tools: 4, bytes: 6520, tokens: 1553 },
};

/** Published, not measured by us. */
const MEDIAN_OF_29_SERVERS = 1679;

const costOf = (tools: readonly ListedTool[], instructions: string): Cost => {
  const sum = (pick: (tool: ListedTool) => object): number =>
    tools.reduce((total, tool) => total + countTokens(JSON.stringify(pick(tool))), 0);
  return {
    tools: tools.length,
    bytes: Buffer.byteLength(JSON.stringify(tools)),
    tokens: sum(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    tokensWithOutput: sum(({ name, description, inputSchema, outputSchema }) => ({
      name,
      description,
      inputSchema,
      outputSchema,
    })),
    instructionTokens: countTokens(instructions),
  };
};

const measure = async (program: string, mode: string): Promise<Cost> => {
  await using workspace = await createWorkspace();
  const server = startServer(llmc(program, workspace.path, "--mode", mode));
  try {
    const { instructions } = await server.handshake();
    const { result } = await server.request("tools/list");
    return costOf(result["tools"] as ListedTool[], String(instructions ?? ""));
  } finally {
    await server.close();
  }
};

export const tokens: Benchmark = {
  name: "tokens",
  summary: "what the tool list costs a client in each mode, in tokens (o200k_base) and bytes",
  run: async ({ program }) => {
    const costs = new Map<string, Cost>();
    for (const mode of MODES) costs.set(mode, await measure(program, mode));
    const rows = [...costs].map(
      ([mode, { tools, bytes, tokens: count, tokensWithOutput, instructionTokens }]) => [
        `llmc ${mode}`,
        tools,
        bytes,
        count,
        tokensWithOutput,
        instructionTokens,
      ],
    );
    const peers = Object.entries(PEERS).map(([name, peer]) => [
      `${name} (recorded)`,
      peer.tools,
      peer.bytes,
      peer.tokens,
      peer.tokensWithOutput ?? "–",
      "–",
    ]);
    return {
      tables: [
        {
          head: ["server", "tools", "bytes", "tokens", "with output schemas", "instructions"],
          rows: [...rows, ...peers],
        },
      ],
      notes: [
        "tokens: the sum over the tools of JSON {name, description, inputSchema}; bytes: JSON of the whole list",
        `median of 29 public servers: ${MEDIAN_OF_29_SERVERS} tokens (published)`,
      ],
      figures: Object.fromEntries(
        [...costs].map(
          ([mode, { tools, bytes, tokens: count, tokensWithOutput, instructionTokens }]): [
            string,
            Figures,
          ] => [
            mode,
            {
              tools,
              bytes,
              tokens: count,
              tokens_with_output: tokensWithOutput,
              instruction_tokens: instructionTokens,
            },
          ],
        ),
      ),
    };
  },
};
