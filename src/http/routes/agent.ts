import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Caller } from "../../core/contract.ts";
import { validateArguments } from "../../core/validate.ts";
import { type AgentAnswer, agentBody } from "./bodies.ts";
import { asCall, type RouteContext } from "./context.ts";
import { streamed, wantsEvents } from "./streamed.ts";

type AgentBody = z.infer<typeof agentBody>;

interface AgentQuestion {
  readonly role: AgentBody["role"];
  readonly userMsg: string;
  readonly injectContext: string;
  readonly caller: Caller;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  /** If given, it receives the answer in pieces as they arrive. */
  readonly onText?: (piece: string) => void;
}

/** The model behind the endpoint. */
export interface AgentPort {
  /** How long an answer may take; undefined while no model is configured. */
  timeoutMs(): number | undefined;
  ask(question: AgentQuestion): Promise<AgentAnswer>;
}

const ACKNOWLEDGEMENT = "[MCP v0] received; use /rag/search for pre-call context";

/** Asks the model as a call of the request's token. `onStart` is called when the call begins to run. */
const askModel = (
  context: RouteContext,
  agent: AgentPort,
  request: FastifyRequest,
  body: AgentBody,
  timeoutMs: number,
  onStart?: () => (piece: string) => void,
): Promise<AgentAnswer> =>
  asCall(context, request, body.session_id, (origin) =>
    context.core.serve(
      "invoke_agent",
      origin,
      async ({ signal, caller, correlationId }) => {
        const onText = onStart?.();
        return agent.ask({
          role: body.role,
          userMsg: body.user_msg,
          injectContext: body.inject_context,
          caller,
          correlationId,
          signal,
          ...(onText === undefined ? {} : { onText }),
        });
      },
      // The text goes to a model, which may be remote and cost money. Checked here and not with the route, because the
      // model may have been configured while the body arrived.
      { timeoutMs, also: ["ask_model"] },
    ),
  );

/** `POST /invoke_agent`: an acknowledgement or, if a model is configured, its answer with context of the workspace. */
export const addAgentRoute = (context: RouteContext, agent: AgentPort): void => {
  context.app.post("/invoke_agent", async (request, reply) => {
    const body = (await validateArguments(agentBody, request.body)) as AgentBody;
    const timeoutMs = agent.timeoutMs();
    if (timeoutMs === undefined) {
      return asCall(context, request, body.session_id, (origin) =>
        context.core.serve("invoke_agent", origin, async () => ({ text: ACKNOWLEDGEMENT })),
      );
    }
    if (!wantsEvents(request)) return askModel(context, agent, request, body, timeoutMs);
    return streamed(context, request, reply, ({ open, progress }) => {
      let characters = 0;
      return askModel(context, agent, request, body, timeoutMs, () => {
        open();
        return (piece) => {
          characters += piece.length;
          progress(characters, undefined, piece);
        };
      });
    });
  });
};
