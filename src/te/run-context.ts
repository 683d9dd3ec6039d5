import type { Session } from "../envelope/contract.ts";
import type { TeRequest } from "../envelope/te-args.ts";
import type { DirectCall } from "../host/run/direct.ts";
import type { TeConfig } from "./config.ts";
import type { TeParts, TeStreams } from "./parts.ts";
import type { TeState } from "./state.ts";

export type RunRequest = Extract<TeRequest, { kind: "run" }>;

/** Who runs a command, with which settings, and where its output and costs are kept. */
export interface RunContext {
  readonly cwd: string;
  readonly env: TeParts["env"];
  readonly streams: TeStreams;
  readonly session: Session;
  readonly config: TeConfig;
  readonly state: TeState | undefined;
}

/** bin/te sets this for Node's compile cache; the command must not inherit it. */
const OWN_CACHE = "/node_modules/.cache/llmc";

const commandEnvironment = ({
  env: { NODE_COMPILE_CACHE: cache, ...env },
  session,
}: RunContext): TeParts["env"] => ({
  ...env,
  ...(cache === undefined || cache.endsWith(OWN_CACHE) ? {} : { NODE_COMPILE_CACHE: cache }),
  TE_AGENT_ID: session.agentId,
  ...(session.sessionId === "" ? {} : { TE_SESSION_ID: session.sessionId }),
  TE_MODEL: session.model,
});

/** How the command of a request is started. */
export const directCall = ({ argv }: RunRequest, context: RunContext): DirectCall => ({
  argv,
  cwd: context.cwd,
  env: commandEnvironment(context),
  ...context.streams,
});
