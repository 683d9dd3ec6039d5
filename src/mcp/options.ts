import { list, section, whole } from "../base/option.ts";

export const mcpSections = [
  section("mcp.resources", "Documents offered as MCP resources.", {
    sidecars: list(
      ["DOCS/agents.core.min.md", "DOCS/contracts.env.min.md"],
      "outside",
      "Workspace files offered as llmc://docs/NAME; those that do not exist are left out.",
      { path: "startup" },
    ),
  }),
  section("mcp.limits", "Bounds on what comes in and goes out.", {
    max_frame_bytes: whole(
      8_388_608,
      1024,
      10_000_000,
      "more",
      "Maximum size of one message on stdio; a larger one is answered with an error, and the session goes on.",
    ),
  }),
] as const;
