import type { Session } from "../envelope/contract.ts";
import type { TeRequest } from "../envelope/te-args.ts";
import type { TeConfig } from "./config.ts";
import type { TeState } from "./state.ts";

export type RunRequest = Extract<TeRequest, { kind: "run" }>;

/** Who runs a command, and what is at hand. */
export interface Place {
  readonly session: Session;
  readonly config: TeConfig;
  readonly state: TeState | undefined;
}

/** Set by our launcher, and nobody else's business. */
const OWN_CACHE = "/node_modules/.cache/llmc";

export const environmentFor = (session: Session): Readonly<Record<string, string | undefined>> => {
  const { NODE_COMPILE_CACHE: cache, ...env } = process.env;
  return {
    ...env,
    ...(cache === undefined || cache.endsWith(OWN_CACHE) ? {} : { NODE_COMPILE_CACHE: cache }),
    TE_AGENT_ID: session.agentId,
    ...(session.sessionId === "" ? {} : { TE_SESSION_ID: session.sessionId }),
    TE_MODEL: session.model,
  };
};
