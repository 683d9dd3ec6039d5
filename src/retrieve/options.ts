import { flag, oneOf, section, whole } from "../base/option.ts";

export const retrieveSections = [
  section("mcp.rag", "Retrieval over code and documents.", {
    jit_context_enabled: flag(true, "Add retrieved context to agent calls.", { planned: true }),
    default_scope: oneOf(["repo", "docs", "both"], "repo", "Where to look when a query names no scope.", {
      planned: true,
    }),
    top_k: whole(3, 1, 50, "Most snippets of one answer.", { planned: true }),
    token_budget: whole(600, 1, 200_000, "Most tokens of one answer.", { planned: true }),
  }),
] as const;
