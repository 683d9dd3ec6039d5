import type { Loaded } from "../config/load.ts";
import { canonicalName } from "../core/modes.ts";
import { allTools } from "../tools/all.ts";

/** Names in `mcp.hybrid.promoted_tools` that no tool has; where modules or executables bring tools of their own, only they know. */
export const unknownTools = ({ config: { mcp } }: Loaded): readonly string[] => {
  if (mcp.tools.custom_modules !== "" || mcp.tools.executables !== "") return [];
  const known = new Set(allTools.map(({ name }) => name));
  return mcp.hybrid.promoted_tools.filter((name) => !known.has(canonicalName(name)));
};

export const describeUnknownTools = (names: readonly string[]): string =>
  `mcp.hybrid.promoted_tools names unknown tools: ${names.join(", ")}`;
