import type { Loaded } from "./load.ts";

type Level = Loaded["config"]["mcp"]["logging"]["level"];
type Format = Loaded["config"]["mcp"]["observability"]["log_format"];

const LEVEL = "mcp.logging.level";
const STRUCTURED = "mcp.logging.structured_output";
const FORMAT = "mcp.observability.log_format";

const isUnset = ({ origins }: Loaded, key: string): boolean =>
  (origins.get(key)?.source ?? "default") === "default";

/** Keys that say nothing unless set: writing their default down would overrule another key. */
export const isSilent = (loaded: Loaded, key: string): boolean =>
  (key === LEVEL || key === STRUCTURED) && isUnset(loaded, key);

/**
 * Two documents name the same two settings: a `mcp.logging` key that somebody set wins over `mcp.observability`. Where
 * nobody set a format, people at a terminal read text, and programs read JSON.
 */
export const logSettings = (loaded: Loaded, atTerminal = false): { level: Level; format: Format } => {
  const { logging, observability } = loaded.config.mcp;
  const format = atTerminal && isUnset(loaded, FORMAT) ? "text" : observability.log_format;
  const level = isUnset(loaded, LEVEL) ? observability.log_level : logging.level;
  const structured = logging.structured_output ? "json" : "text";
  return {
    // The master switch turns logs down to errors; silent is quieter still.
    level: observability.enabled || level === "silent" ? level : "error",
    format: isUnset(loaded, STRUCTURED) ? format : structured,
  };
};
