import { z } from "zod";
import { defineTool } from "./tool.ts";

export const adminGetStatus = defineTool({
  name: "admin_get_status",
  description: "Status and health checks of the server; asks the user.",
  effect: "read",
  family: "admin",
  input: z.strictObject({}),
  output: z.object({
    status: z.enum(["healthy", "degraded", "unhealthy"]),
    version: z.string(),
    uptime: z.number().describe("seconds"),
    health_checks: z.array(
      z.object({ name: z.string(), status: z.enum(["ok", "degraded", "failed"]), detail: z.string() }),
    ),
  }),
  run: async (_args, { server }) => {
    const { status, checks } = await server.checkHealth();
    const { program, uptimeSeconds } = server.health();
    return {
      status,
      version: program,
      uptime: uptimeSeconds,
      health_checks: checks.map((check) => ({ ...check })),
    };
  },
  render: ({ status, version, uptime, health_checks }) =>
    [
      `${status}, ${version}, up for ${uptime} s`,
      ...health_checks.map(
        ({ name, status: one, detail }) => `${name}: ${one}${detail === "" ? "" : ` (${detail})`}`,
      ),
    ].join("\n"),
});
