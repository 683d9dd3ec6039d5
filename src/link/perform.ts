import { givenCorrelationId } from "../base/correlation-id.ts";
import { type LlmcError, renderForModel, toLlmcError } from "../base/error.ts";
import { familyOf } from "../base/error-table.ts";
import { cleanName } from "../base/text.ts";
import type { CallResult } from "../core/call.ts";
import { type Caller, EFFECTS, LOCAL, QuestionsAsked } from "../core/contract.ts";
import type { Core } from "../core/core.ts";
import { canonicalName } from "../core/modes.ts";
import type { Origin } from "../core/origin.ts";
import type { LinkOrigin, LinkRequest, LinkWork } from "./request.ts";
import type { SealedState } from "./sealed-state.ts";
import { toWireError, type WireLine } from "./wire.ts";

export interface PerformParts {
  readonly core: Core;
  readonly state: SealedState;
  /** Names the client's connection: what it starts belongs to it. */
  readonly connection: string;
  readonly newId: () => string;
}

const ALL_EFFECTS: ReadonlySet<string> = new Set(EFFECTS);

export const stdioOwner = (connection: string): string => `stdio:${connection}`;

/** The front supplies nothing but labels: whoever started the program may do what the configuration allows. */
const callerOf = (connection: string, given: LinkOrigin): Caller => ({
  agentId: cleanName(given.agentId),
  sessionId: cleanName(given.sessionId),
  model: cleanName(given.model),
  budgetProfile: cleanName(given.budgetProfile),
  transport: "stdio",
  principal: LOCAL,
  owner: stdioOwner(connection),
  may: ALL_EFFECTS,
});

const originOf = (
  { connection, newId, state }: PerformParts,
  given: LinkOrigin,
  target: string,
  signal: AbortSignal,
  emit: (line: WireLine) => void,
): Origin => ({
  caller: callerOf(connection, given),
  correlationId: givenCorrelationId(given.correlationId) ?? newId(),
  ...(given.route === null ? {} : { route: cleanName(given.route) }),
  ...(given.traceparent === null ? {} : { traceparent: given.traceparent }),
  signal,
  requestSignal: signal,
  canAsk: (kind) => given.asks.includes(kind),
  answers: given.answers ?? undefined,
  state: state.open(target, given.state),
  ...(given.progress
    ? {
        progress: async (done: number, total?: number, message?: string) =>
          emit({ progress: [done, total ?? null, message ?? null] }),
      }
    : {}),
  log: async (level, message) => emit({ log: [level, message] }),
});

/** What a request is about: its state is valid for nothing else. */
const targetOf = (work: LinkWork): string => {
  if (work.method === "call") return `call ${work.tool}`;
  if (work.method === "readResource") return `readResource ${work.uri}`;
  if (work.method === "getPrompt") return `getPrompt ${work.name}`;
  return work.method;
};

const resultLine = ({ core, state }: PerformParts, result: CallResult, target: string): WireLine => {
  if (result.kind === "questions")
    return { questions: result.questions, state: state.seal(target, result.state) };
  if (result.kind === "error")
    return { value: { kind: "error", error: toWireError(result.error), body: result.body } };
  // The list is part of the structured output, and only `/invoke`, which is served here, answers with it.
  const { structured, list: _, ...rest } = result;
  return { value: core.sendsStructured() ? { ...rest, structured } : rest };
};

const work = async (parts: PerformParts, { work: asked }: LinkRequest, from: Origin): Promise<unknown> => {
  const { core } = parts;
  switch (asked.method) {
    case "listTools":
      return core.listTools(from.caller);
    case "resources":
      return core.resources(from.caller);
    case "readResource":
      return core.readResource(asked.uri, from);
    case "getPrompt":
      return core.getPrompt(asked.name, asked.args, from);
    case "suggest":
      return core.suggest(asked.of, asked.argument, asked.value, from);
    case "call":
      throw new Error("calls have results of their own");
  }
};

/** The last line of a request that is refused before it reaches the core. */
export const refusalLine = ({ work: asked, origin }: LinkRequest, error: LlmcError): WireLine =>
  asked.method === "call"
    ? {
        value: {
          kind: "error",
          error: toWireError(error),
          body: renderForModel(error, familyOf(canonicalName(asked.tool)), origin.correlationId),
        },
      }
    : { error: toWireError(error) };

const lastLine = async (
  parts: PerformParts,
  request: LinkRequest,
  signal: AbortSignal,
  emit: (line: WireLine) => void,
): Promise<WireLine> => {
  const target = targetOf(request.work);
  try {
    const from = originOf(parts, request.origin, target, signal, emit);
    if (request.work.method !== "call") return { value: await work(parts, request, from) };
    const { tool, args } = request.work;
    return resultLine(parts, await parts.core.call({ ...from, tool, args }), target);
  } catch (thrown) {
    if (!(thrown instanceof QuestionsAsked)) throw thrown;
    return { questions: thrown.questions, state: parts.state.seal(target, thrown.state) };
  }
};

/**
 * Does what a front asked for, and returns the last line of the answer as JSON. Whatever is thrown becomes that line, also
 * because the result cannot be written as JSON, such as a question of a custom module with a BigInt in it.
 */
export const perform = async (
  parts: PerformParts,
  request: LinkRequest,
  signal: AbortSignal,
  emit: (line: WireLine) => void,
): Promise<string> => {
  try {
    return JSON.stringify(await lastLine(parts, request, signal, emit));
  } catch (thrown) {
    return JSON.stringify(refusalLine(request, toLlmcError(thrown)));
  }
};
