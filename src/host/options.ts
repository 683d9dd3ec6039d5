import { flag, section, text } from "../base/option.ts";

export const hostSections = [
  section("mcp.docker", "Inside a container.", {
    data_volume: text("/app/.llmc", "Where state lives inside a container.", {
      planned: true,
      restart: true,
    }),
    persist_telemetry: flag(true, "Keep command telemetry on that volume.", { planned: true }),
    persist_token_audit: flag(true, "Keep the token audit on that volume.", { planned: true }),
  }),
] as const;
