import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { LlmcError, renderForHttp, toLlmcError } from "../../base/error.ts";
import { validateArguments } from "../../core/validate.ts";
import { type AgentAnswer, agentBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";
import { openEventStream, progressData } from "../event-stream.ts";

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

const wantsEvents = ({ headers: { accept } }: FastifyRequest): boolean =>
  accept?.includes("text/event-stream") ?? false;

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

/** The answer as it is written, as server-sent events; the last one has all of it. */
const streamAnswer = async (
  door: Door,
  agent: AgentPort,
  request: FastifyRequest,
  reply: FastifyReply,
  body: AgentBody,
  timeoutMs: number,
): Promise<FastifyReply> => {
  let stream: ReturnType<typeof openEventStream> | undefined;
  let characters = 0;
  try {
    const answer = await askModel(door, agent, request, body, timeoutMs, () => {
      // Not before the call has its place: until then it can be refused with a status of its own.
      reply.hijack();
      stream = openEventStream(reply.raw, request.id);
      return (piece) => {
        characters += piece.length;
        stream?.send("progress", progressData(characters, undefined, piece));
      };
    });
    stream?.send("result", answer);
  } catch (thrown) {
    if (stream === undefined) throw thrown;
    const error = toLlmcError(thrown);
    if (error.code === "internal_error" && error !== thrown) door.onInternalError(error, request.id);
    stream.send("error", renderForHttp(error, request.id));
  }
  stream?.end();
  return reply;
};

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
    return wantsEvents(request)
      ? streamAnswer(door, agent, request, reply, body, timeoutMs)
      : askModel(door, agent, request, body, timeoutMs);
  });
};
