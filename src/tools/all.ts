import { getMetrics } from "./get-metrics.ts";
import { health } from "./health.ts";
import { init } from "./init.ts";
import { listDir } from "./list-dir.ts";
import { readFile } from "./read-file.ts";
import { stat } from "./stat.ts";
import type { Tool } from "./tool.ts";

/** Every tool of this program, in the order in which clients see them. */
export const allTools: readonly Tool[] = [init, readFile, listDir, stat, health, getMetrics];
