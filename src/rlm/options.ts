import { flag, list, section, whole } from "../base/option.ts";

export const rlmSections = [
  section("mcp.rlm", "Recursive Language Model analyses.", {
    enabled: flag(true, true, "Offer rlm_query.", { planned: true }),
    allow_path: flag(true, true, "Accept a file path as well as raw context.", { planned: true }),
    allow_absolute_paths: flag(false, true, "Accept absolute paths.", { planned: true }),
    denylist_globs: list(
      ["**/.env", "**/*.pem", "**/id_rsa*", "**/*credential*", "**/*token*"],
      "removals",
      "Files that are never analysed, in addition to mcp.tools.denylist_globs.",
      { planned: true },
    ),
    default_max_bytes: whole(262_144, 1, 1_073_741_824, "more", "Maximum number of bytes read from a path.", {
      planned: true,
    }),
    default_timeout_s: whole(300, 1, 86_400, "more", "Timeout of one analysis, in seconds.", {
      planned: true,
    }),
    allow_model_override: flag(false, true, "Let a call choose its model.", { planned: true }),
  }),
] as const;
