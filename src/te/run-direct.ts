import type { Session } from "../envelope/contract.ts";
import type { FoundWorkspace } from "../host/os/find-workspace.ts";
import type { TeConfig } from "./config.ts";
import type { RunRequest } from "./place.ts";
import { openTeState } from "./state.ts";

/** A person at a terminal pays for no tokens: what cannot be told shorter is left as it is, colours, prompts and all. */
const isForPerson = async ({ words }: RunRequest): Promise<boolean> =>
  Boolean(process.stdout.isTTY) &&
  (await import("../envelope/enrich/all.ts")).enricherFor(words) === undefined;

/** Runs a command for the person, or the agent, at this terminal. */
export const runRequest = async (
  request: RunRequest,
  session: Session,
  workspace: FoundWorkspace | undefined,
  config: TeConfig,
): Promise<number> => {
  const state =
    workspace === undefined || !config.te.enabled ? undefined : openTeState(workspace.root, config);
  const place = { session, config, state };
  const goesThrough = !request.json && (request.raw || state === undefined || (await isForPerson(request)));
  // Loaded apart: what only passes through needs no enricher, and must not fail with one.
  try {
    if (goesThrough) return await (await import("./through.ts")).passThrough(request, place);
    return await (await import("./envelop.ts")).envelop(request, place);
  } finally {
    state?.close();
  }
};
