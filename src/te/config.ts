import type { Loaded } from "../config/load.ts";
import type { TeParts } from "./parts.ts";
import { printMessage } from "./print-message.ts";

/** The part of the configuration that `te` uses. */
export type TeConfig = Pick<Loaded["config"]["mcp"], "te" | "session" | "handles" | "audit">;

/** A warning is printed before the command's output only for keys that `te` itself uses. */
const OWN_KEYS = /^mcp\.(te|session|handles|audit)\./;

/** A broken configuration does not stop a command: `llmc config validate` reports it, and the defaults apply. */
export const loadTeConfig = async (
  { load, streams }: Pick<TeParts, "load" | "streams">,
  root: string,
): Promise<TeConfig> => {
  try {
    const { config, waiting } = await load(root);
    if (waiting.some(({ key }) => OWN_KEYS.test(key))) {
      const { describeWaiting } = await import("../config/waiting.ts");
      printMessage(streams, `te: ${describeWaiting(waiting)}`);
    }
    return config.mcp;
  } catch {
    printMessage(
      streams,
      "te: llmc's configuration has an error (llmc config validate); its defaults are used",
    );
    const { buildConfig } = await import("../config/sections.ts");
    return buildConfig(new Map()).mcp;
  }
};
