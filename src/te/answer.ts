import { LlmcError } from "../base/error.ts";
import { answerTe } from "../envelope/te-answers.ts";
import type { TeRequest } from "../envelope/te-args.ts";
import type { UsageSummary } from "../host/state/usage/usage.ts";
import type { KeptReader, TeParts } from "./parts.ts";

type Asked = Extract<TeRequest, { kind: "handle" | "list-handles" | "stats" }>;

const NO_USAGE: UsageSummary = {
  total: { name: "total", calls: 0, failed: 0, rawTokens: 0, shownTokens: 0, latencyMs: 0 },
  agents: [],
  sessions: [],
  commands: [],
  days: [],
};

/** Nothing is stored outside of a workspace. */
const NOTHING_KEPT: KeptReader = {
  handles: {
    list: async () => [],
    readChunk: async () => {
      throw new LlmcError("handle_not_found", "This folder belongs to no workspace: nothing is kept here.", {
        hint: "Go to the folder in which the handle was made.",
      });
    },
  },
  usage: { summary: () => NO_USAGE },
  close: async () => {},
};

/** Answers a question about what is kept in the workspace. */
export const answerFor = async (request: Asked, workspace: string | undefined, parts: TeParts) => {
  const kept =
    workspace === undefined ? NOTHING_KEPT : await parts.openKept(workspace, await parts.load(workspace));
  try {
    const bars = Boolean(parts.streams.stdout.isTTY);
    return await answerTe(request, { ...kept, principal: parts.principal, bars });
  } finally {
    await kept.close();
  }
};
