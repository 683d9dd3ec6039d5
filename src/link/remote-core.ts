import { LlmcError, type renderForModel } from "../base/error.ts";
import { type CallResult, failedCall } from "../core/call.ts";
import { type Caller, type LogLevel, type Question, QuestionsAsked } from "../core/contract.ts";
import type { DoorCore } from "../core/door-core.ts";
import { canonicalName } from "../core/modes.ts";
import type { Origin } from "../core/origin.ts";
import type { ListKind } from "../core/refresh.ts";
import { LinkBroken } from "./link-broken.ts";
import type { LinkClient } from "./link-client.ts";
import type { LinkOrigin, LinkRequest, LinkWork } from "./request.ts";
import { UNNUMBERED } from "./schema-version.ts";
import type { Snapshot } from "./snapshot.ts";
import { unknownOutcome } from "./unknown-outcome.ts";
import { fromWireError, isLast, type WireError, type WireLine } from "./wire.ts";

export interface RemoteCoreParts {
  readonly link: LinkClient;
  readonly snapshot: () => Snapshot;
  /** Resolves when the core is there; rejects when it has not come in time. */
  readonly reachable: () => Promise<void>;
  /** The connection broke: it may be a while until the core is there again. */
  readonly onBroken: () => void;
  /** The generation of the core that was alive when the client's line was first delivered. */
  readonly generationOf: (n: number) => number;
  /** Whether another front has had the line before. */
  readonly isRepeated: (n: number) => boolean;
  /** Called when a request is sent for the first time. */
  readonly onAsked: (n: number) => void;
  /** Called when a request is over, however it ended. */
  readonly onSettled: (n: number) => void;
  readonly onListChanged: DoorCore["onListChanged"];
  readonly onResourceUpdated: DoorCore["onResourceUpdated"];
}

type WireResult =
  | Exclude<CallResult, { kind: "error" }>
  | { readonly kind: "error"; readonly error: WireError; readonly body: ReturnType<typeof renderForModel> };

/** Requests of a client whose rounds are counted; far more than can be open at once. */
const MAX_COUNTED = 8192;

const wireOrigin = (origin: Origin): LinkOrigin => ({
  agentId: origin.caller.agentId,
  sessionId: origin.caller.sessionId,
  model: origin.caller.model,
  budgetProfile: origin.caller.budgetProfile ?? "",
  correlationId: origin.correlationId,
  route: origin.route ?? null,
  traceparent: origin.traceparent ?? null,
  progress: origin.progress !== undefined,
  asks: (["form", "sampling", "roots"] as const).filter((kind) => origin.canAsk?.(kind) === true),
  answers: origin.answers ?? null,
  state: typeof origin.state === "string" ? origin.state : null,
});

/** Which round of a request this is: one that asked its client something is made again with the answers. */
const createRounds = () => {
  const rounds = new Map<number, number>();
  return (n: number): number => {
    const round = rounds.get(n) ?? 0;
    rounds.delete(n);
    rounds.set(n, round + 1);
    const [oldest] = rounds.keys();
    if (rounds.size > MAX_COUNTED && oldest !== undefined) rounds.delete(oldest);
    return round;
  };
};

/** Hands what happens on the way to the door, and returns the last line. */
const follow = async (link: LinkClient, body: string, origin: Origin): Promise<WireLine> => {
  let last: WireLine | undefined;
  await link.ask(body, (line) => {
    if ("progress" in line) {
      const [done, total, message] = line.progress;
      void origin.progress?.(done, total ?? undefined, message ?? undefined).catch(() => {});
    } else if ("log" in line) {
      const [level, message] = line.log;
      void origin.log?.(level as LogLevel, message).catch(() => {});
    } else if (isLast(line)) last = line;
  });
  if (last === undefined) throw new LinkBroken("the answer ended before its last line");
  return last;
};

/** Repeats a request until it is answered: the core knows it by its number, and does nothing twice. */
const createAsk = (parts: RemoteCoreParts) => {
  const { link, reachable, onBroken, generationOf, isRepeated, onAsked, onSettled } = parts;
  const roundOf = createRounds();
  const isReadOnly = (tool: string): boolean =>
    parts.snapshot().tools?.find(({ name }) => name === canonicalName(tool))?.annotations?.[
      "readOnlyHint"
    ] === true;

  const askUntilAnswered = async (request: LinkRequest, origin: Origin): Promise<WireLine> => {
    const { n, work } = request;
    const body = JSON.stringify(request);
    let mayHaveBegun = isRepeated(n);
    for (;;) {
      try {
        await reachable();
      } catch (thrown) {
        throw mayHaveBegun && work.method === "call" && !isReadOnly(work.tool) ? unknownOutcome() : thrown;
      }
      if (origin.signal?.aborted) throw new LlmcError("cancelled", "The call was cancelled.");
      mayHaveBegun = true;
      try {
        return await follow(link, body, origin);
      } catch (thrown) {
        if (!(thrown instanceof LinkBroken)) throw thrown;
        onBroken();
      }
    }
  };

  return async (work: LinkWork, origin: Origin): Promise<WireLine> => {
    const n = Number(origin.requestId ?? UNNUMBERED);
    const cancel = (): void => void link.post("/v1/cancel", JSON.stringify({ n })).catch(() => {});
    origin.signal?.addEventListener("abort", cancel);
    onAsked(n);
    const forget = (): void => origin.signal?.removeEventListener("abort", cancel);
    try {
      const round = n === UNNUMBERED ? 0 : roundOf(n);
      const line = await askUntilAnswered(
        { n, round, generation: generationOf(n), origin: wireOrigin(origin), work },
        origin,
      );
      // The client may also give up while its user is asked: the core has something that waits for the answer.
      if (!("questions" in line) || origin.requestSignal === undefined) forget();
      return line;
    } catch (thrown) {
      forget();
      throw thrown;
    } finally {
      onSettled(n);
    }
  };
};

const resultOf = (line: WireLine): CallResult => {
  if ("questions" in line)
    return {
      kind: "questions",
      questions: line.questions as Readonly<Record<string, Question>>,
      state: line.state ?? undefined,
    };
  if (!("value" in line)) throw new Error("not the last line of a call");
  const result = line.value as WireResult;
  return result.kind === "error" ? { ...result, error: fromWireError(result.error) } : result;
};

const payloadOf = <T>(line: WireLine): T => {
  if ("value" in line) return line.value as T;
  if ("error" in line) throw fromWireError(line.error);
  if ("questions" in line)
    throw new QuestionsAsked(line.questions as Readonly<Record<string, Question>>, line.state ?? undefined);
  throw new Error("not the last line of an answer");
};

/** For requests of the door that have no origin of their own. */
const asOrigin = (caller: Caller): Origin => ({ caller, correlationId: "listing-request" });

/** The core, seen from a front in another process. */
export const createRemoteCore = (parts: RemoteCoreParts): DoorCore => {
  const { snapshot } = parts;
  const ask = createAsk(parts);
  return {
    call: async ({ tool, args, ...origin }) => {
      try {
        return resultOf(await ask({ method: "call", tool, args }, origin));
      } catch (thrown) {
        if (thrown instanceof LlmcError) return failedCall(thrown, tool, origin.correlationId);
        throw thrown;
      }
    },
    listTools: async (caller) => {
      const { tools } = snapshot();
      if (tools !== undefined || caller === undefined) return tools ?? [];
      return payloadOf(await ask({ method: "listTools" }, asOrigin(caller)));
    },
    resources: async (caller) => payloadOf(await ask({ method: "resources" }, asOrigin(caller))),
    readResource: async (uri, origin) => payloadOf(await ask({ method: "readResource", uri }, origin)),
    getPrompt: async (name, args, origin) =>
      payloadOf(await ask({ method: "getPrompt", name, args }, origin)),
    suggest: async (of, argument, value, origin) =>
      payloadOf(await ask({ method: "suggest", of, argument, value }, origin)),
    prompts: () => snapshot().prompts,
    templates: () => snapshot().templates,
    instructions: () => snapshot().instructions,
    settings: () => snapshot().defaults,
    sendsStructured: () => snapshot().sendsStructured,
    onListChanged: (listener: (kind: ListKind) => void) => parts.onListChanged(listener),
    onResourceUpdated: parts.onResourceUpdated,
  };
};
