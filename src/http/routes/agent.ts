import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { LlmcError } from "../../base/error.ts";
import { validateArguments } from "../../core/validate.ts";
import { type AgentAnswer, agentBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";
import { streamed, wantsEvents } from "../streamed.ts";

type AgentBody = z.infer<typeof agentBody>;

interface AgentQuestion {
  readonly role: AgentBody["role"];
  readonly userMsg: string;
  readonly injectContext: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  /** Given, the answer is told in pieces as it comes. */
  readonly onText?: (piece: string) => void;
}

/** The model behind the endpoint. */
export interface AgentPort {
  /** How long an answer may take; undefined while no model is configured. */
  timeoutMs(): number | undefined;
  ask(question: AgentQuestion): Promise<AgentAnswer>;
}

const ACKNOWLEDGEMENT = "[MCP v0] received; use /rag/search for pre-call context";

/** The text goes to a model, which may be elsewhere and cost money: reading alone does not allow that. */
const refuseWithoutEgress = (may: ReadonlySet<string>): void => {
  if (may.has("egress")) return;
  throw new LlmcError("forbidden", 'The token is not good for this: it lacks the scope "egress".', {
    hint: "The operator grants scopes in mcp.auth.tokens.",
  });
};

/** Asks the model, as a call of the request's token; `begin` is told when the call has been let in. */
const askModel = (
  door: Door,
  agent: AgentPort,
  request: FastifyRequest,
  body: AgentBody,
  timeoutMs: number,
  begin?: () => (piece: string) => void,
): Promise<AgentAnswer> =>
  asCall(door, request, body.session_id, (origin) =>
    door.core.serve(
      "invoke_agent",
      origin,
      async ({ caller, signal, correlationId }) => {
        refuseWithoutEgress(caller.may);
        const onText = begin?.();
        return agent.ask({
          role: body.role,
          userMsg: body.user_msg,
          injectContext: body.inject_context,
          correlationId,
          signal,
          ...(onText === undefined ? {} : { onText }),
        });
      },
      timeoutMs,
    ),
  );

/** `POST /invoke_agent`: acknowledges; with a configured model, asks it in the role, with context of the workspace. */
export const addAgentRoute = (door: Door, agent: AgentPort): void => {
  door.app.post("/invoke_agent", async (request, reply) => {
    const body = (await validateArguments(agentBody, request.body)) as AgentBody;
    const timeoutMs = agent.timeoutMs();
    if (timeoutMs === undefined) {
      return asCall(door, request, body.session_id, (origin) =>
        door.core.serve("invoke_agent", origin, async () => ({ text: ACKNOWLEDGEMENT })),
      );
    }
    if (!wantsEvents(request)) return askModel(door, agent, request, body, timeoutMs);
    return streamed(door, request, reply, ({ open, progress }) => {
      let characters = 0;
      return askModel(door, agent, request, body, timeoutMs, () => {
        open();
        return (piece) => {
          characters += piece.length;
          progress(characters, undefined, piece);
        };
      });
    });
  });
};
