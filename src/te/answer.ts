import { LlmcError } from "../base/error.ts";
import { answerTe } from "../envelope/te-answers.ts";
import type { TeRequest } from "../envelope/te-args.ts";
import type { FoundWorkspace } from "../host/os/find-workspace.ts";
import type { UsageSummary } from "../host/state/usage/usage.ts";
import { LOCAL } from "../tools/contract.ts";

type Asked = Extract<TeRequest, { kind: "handle" | "list-handles" | "stats" }>;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const NO_USAGE: UsageSummary = {
  total: { name: "total", calls: 0, failed: 0, rawTokens: 0, shownTokens: 0, latencyMs: 0 },
  agents: [],
  sessions: [],
  commands: [],
  days: [],
};

const bars = (): boolean => Boolean(process.stdout.isTTY);

/** Outside of every workspace nothing is kept. */
const answerNowhere = (request: Asked) =>
  answerTe(request, {
    handles: {
      list: async () => [],
      readChunk: async () => {
        throw new LlmcError(
          "handle_not_found",
          "This folder belongs to no workspace: nothing is kept here.",
          {
            hint: "Go to the folder in which the handle was made.",
          },
        );
      },
    },
    usage: { summary: () => NO_USAGE },
    principal: LOCAL,
    bars: bars(),
  });

/** What te answers from what is kept in the workspace. */
export const answerFor = async (request: Asked, workspace: FoundWorkspace | undefined) => {
  if (workspace === undefined) return answerNowhere(request);
  const [{ createEngines }, { loadForTe, teFolders }] = await Promise.all([
    import("../wiring/engines.ts"),
    import("./config.ts"),
  ]);
  const folders = teFolders();
  const { config, lookedAt } = await loadForTe(workspace.root);
  const engines = createEngines({
    root: workspace.root,
    config: () => config,
    configFile: () => lookedAt,
    folders,
    log: silent,
  });
  try {
    return await answerTe(request, { ...engines, principal: LOCAL, bars: bars() });
  } finally {
    await engines.close();
  }
};
