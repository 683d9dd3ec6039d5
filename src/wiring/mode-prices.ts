import { modeCost } from "../cli/tools-command.ts";
import type { Loaded } from "../config/load.ts";
import type { Core } from "../core/core.ts";
import { tokenCounter } from "../host/os/token-counter.ts";

/** A configuration file that names no mode keeps its earlier meaning, classic, which few want (REQ-D21). */
export const isModeUnnamed = ({ file, config, origins }: Loaded): boolean =>
  file !== undefined && config.mcp.mode === "classic" && origins.get("mcp.mode")?.source === "default";

const priceOf = async (core: Core, mode: "classic" | "hybrid"): Promise<string> => {
  const { tools, tokens } = await modeCost(core, mode, await tokenCounter());
  return `${tools.length} tools, ${tokens} tokens`;
};

/** One line with both prices, for whoever did not know that a mode can be named. */
export const describeUnnamedMode = async (core: Core): Promise<string> =>
  `llmc.toml names no mode, so the mode is classic (${await priceOf(core, "classic")}); mode = "hybrid" in [mcp] lists the essential ones (${await priceOf(core, "hybrid")})`;
