import { flag, section, text, whole } from "../base/option.ts";

export const envelopeSections = [
  section("mcp.te", "The Tool Envelope around commands.", {
    enabled: flag(true, "Send commands through the envelope; false runs them directly.", { planned: true }),
    script_path: text("scripts/te", "An envelope program of your own, used where it exists.", {
      planned: true,
    }),
    json_mode: flag(true, "Ask that program for JSON.", { planned: true }),
    timeout: whole(30, 1, 86_400, "Deadline of an enveloped command, in seconds.", { planned: true }),
    passthrough_on_failure: flag(true, "Run the command directly when the envelope fails.", {
      planned: true,
    }),
  }),
] as const;
