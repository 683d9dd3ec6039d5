import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import { defineTool } from "./tool.ts";

const histogram = z.object({
  count: z.int(),
  sum: z.number(),
  p50: z.number(),
  p95: z.number(),
  p99: z.number(),
});

const MINUTES = { "15m": 15, "1h": 60, "24h": 24 * 60 } as const;

/** Without their labels. */
const namesOf = (groups: object): readonly string[] => [
  ...new Set(
    Object.values(groups).flatMap((group: object) =>
      Object.keys(group).map((name) => name.replace(/\{.*$/s, "")),
    ),
  ),
];

export const adminGetMetrics = defineTool({
  name: "admin_get_metrics",
  description: "Metrics of the server over time; asks the user.",
  effect: "read",
  family: "admin",
  input: z.strictObject({
    scope: z.string().max(200).optional().describe("prefix of names"),
    timerange: z.enum(["15m", "1h", "24h"]).default("1h"),
  }),
  output: z.object({
    metrics: z.record(z.string(), z.number()),
    histograms: z.record(z.string(), histogram),
    counters: z.record(z.string(), z.number()),
  }),
  run: async ({ scope = "", timerange }, { server }) => {
    const { metrics, histograms, counters } = server.metricsOver(MINUTES[timerange], scope);
    const all = (): ReturnType<typeof server.metricsOver> => server.metricsOver(MINUTES[timerange], "");
    if (scope !== "" && namesOf({ metrics, histograms, counters }).length === 0)
      throw new LlmcError("invalid_args", `No metric of that time begins with ${quoteForMessage(scope)}.`, {
        hint: `There are: ${namesOf(all()).join(", ")}.`,
      });
    return { metrics: { ...metrics }, histograms: { ...histograms }, counters: { ...counters } };
  },
  render: (output) => JSON.stringify(output),
});
