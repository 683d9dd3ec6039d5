import type { CountTokens } from "../base/tokens.ts";
import type { Core } from "../core/core.ts";
import type { Mode } from "../core/modes.ts";
import { MODES } from "../core/options.ts";
import { bold, type Io, table } from "./io.ts";

interface ToolCost {
  readonly name: string;
  readonly description: string;
  readonly tokens: number;
}

export interface ModeCost {
  readonly mode: Mode;
  readonly tools: readonly ToolCost[];
  /** Name, description and input schema of every tool, as a model pays for them. */
  readonly tokens: number;
  /** Size of the whole list as JSON. */
  readonly bytes: number;
}

/** What the tool list of a mode costs a client, counted with o200k_base. */
export const modeCost = async (core: Core, mode: Mode, count: CountTokens): Promise<ModeCost> => {
  const published = await core.preview(mode);
  const tools = published.map(({ name, description, inputSchema }) => ({
    name,
    description,
    tokens: count(JSON.stringify({ name, description, inputSchema })),
  }));
  return {
    mode,
    tools,
    tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0),
    bytes: Buffer.byteLength(JSON.stringify(published)),
  };
};

export const runTools = async (
  core: Core,
  io: Io,
  count: CountTokens,
  options: { readonly mode?: Mode | undefined; readonly json: boolean },
): Promise<void> => {
  const modes = options.mode === undefined ? MODES : [options.mode];
  const costs = await Promise.all(modes.map((mode) => modeCost(core, mode, count)));
  if (options.json) {
    io.data(`${JSON.stringify(costs, null, 2)}\n`);
    return;
  }
  for (const { mode, tools, tokens, bytes } of costs) {
    const current = mode === core.settings().mode ? " (current)" : "";
    io.out(
      `${bold(`${mode}${current}`, io.hasColours)}: ${tools.length} tools, ${tokens} tokens, ${bytes} bytes\n`,
    );
    io.out(
      `${table(tools.map((tool) => ["", tool.name, String(tool.tokens).padStart(5), tool.description]))}\n\n`,
    );
  }
  io.out(`Programs that commands may start: ${core.settings().allowedPrograms.join(" ")}\n`);
};
