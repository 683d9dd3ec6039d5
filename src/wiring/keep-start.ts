import { EFFECTS, LOCAL } from "../core/contract.ts";
import { removeStartCache, writeStartCache } from "../host/own-files/start-cache.ts";
import type { Snapshot } from "../link/snapshot.ts";
import type { App, AppRequest } from "./app.ts";
import { type CachedStart, frontSettingsOf } from "./front-settings.ts";

/** What clients may list, for a front that answers without asking. */
export const snapshotOf = ({ core, policy, config }: App): Snapshot => {
  const { defaultAgentId, defaultModel, defaultBudgetProfile } = core.settings();
  const local = {
    agentId: defaultAgentId,
    sessionId: "",
    model: defaultModel,
    transport: "stdio",
    principal: LOCAL,
    owner: "",
    may: new Set<string>(EFFECTS),
  } as const;
  return {
    tools: policy.hasOwn() ? undefined : core.listTools(local),
    prompts: core.prompts(),
    templates: core.templates(),
    instructions: core.instructions(local),
    defaults: { defaultAgentId, defaultModel, defaultBudgetProfile },
    sendsStructured: core.sendsStructured(),
    maxFrameBytes: config.current().config.mcp.limits.max_frame_bytes,
  };
};

/** After the client has its tool list. */
const CACHE_MS = 500;

/**
 * Keeps what clients may list for the next start, with the state in which all files were read that it comes from. Custom modules may list
 * something else each time. Once the configuration has changed, some of it waits for that start: then nothing is kept.
 */
export const keepForNextStart = (app: App, request: AppRequest, path: string): void => {
  const keep = async (): Promise<void> => {
    const loaded = app.config.current();
    const files = [...loaded.identities, ...app.policyIdentities];
    const snapshot = app.core.settings().customModules === undefined ? snapshotOf(app) : undefined;
    const settings = frontSettingsOf(loaded, request.env);
    // What is relayed into an air gap may come from environment variables, and kept starts are not keyed by those.
    if (settings.airGap !== undefined) return;
    const value: CachedStart = { settings, ...(snapshot && { snapshot }) };
    await writeStartCache(path, files, value);
  };
  const timer = setTimeout(() => void keep().catch(() => {}), CACHE_MS).unref();
  app.config.onChange(() => {
    clearTimeout(timer);
    removeStartCache(path);
  });
};
