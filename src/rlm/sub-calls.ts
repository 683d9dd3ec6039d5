import { LlmcError, toLlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { parseGuarded } from "../base/json-guard.ts";
import type { Generation } from "../llm/contract.ts";
import { createPace } from "../llm/pace.ts";
import type { CallAnswer, CallTool } from "../sandbox/contract.ts";
import type { Finished } from "./answers.ts";
import { Context, isSpan } from "./context.ts";
import type { AnswerSchema } from "./contract.ts";
import { findSymbol, grepContext, type Hit, outlineForProgram, rankContext } from "./navigation.ts";
import type { Offsets } from "./offsets.ts";
import { batchName, SUB_SYSTEM_PROMPT } from "./prompts.ts";
import { addCost, measure, type TracedCall, type TracedNode } from "./trace.ts";
import type { Tree } from "./tree.ts";

/** An analysis that a program starts. */
export interface ChildRequest {
  readonly id: string;
  readonly task: string;
  readonly context: Context;
  readonly schema: AnswerSchema | undefined;
  /** Ends with the session, or with the program that started this analysis. */
  readonly signal: AbortSignal;
}

/** One analysis while it runs, as the calls of its programs see it. */
export interface NodeState {
  readonly tree: Tree;
  readonly context: Context;
  readonly traced: TracedNode;
  readonly offsets: Offsets;
  /** Ends with the session, or with the program that started this analysis. */
  readonly signal: AbortSignal;
  /** Starts an analysis inside this one. */
  readonly startChild: (child: ChildRequest) => Promise<unknown>;
  finished: Finished | undefined;
  draft: unknown;
  calls: number;
  children: number;
}

type Args = Readonly<Record<string, unknown>>;
type Handler = (state: NodeState, args: Args, signal: AbortSignal) => Promise<unknown>;

const invalid = (message: string): LlmcError => new LlmcError("invalid_args", message);

const MAX_BATCH = 1000;
const MAX_SCHEMA_CHARS = 100_000;
const MAX_EVIDENCE = 50;
/** Texts that are compared with the context, or given to a model as its task. Contexts and prompts have the size of a call. */
const MAX_CHARS = { task: 20_000, pattern: 20_000, query: 20_000, name: 1000 } as const;

/**
 * The one place where arguments are bounded, before anything is done with them: a program may send as much as fits into a
 * call, as often as it likes, and all is answered in the thread that answers everybody.
 */
const checkBounds = ({ prompts, evidence, schema, ...args }: Args): void => {
  for (const [name, max] of Object.entries(MAX_CHARS)) {
    const text = args[name];
    if (typeof text === "string" && text.length > max)
      throw invalid(`A ${name} has at most ${max} characters.`);
  }
  if (Array.isArray(prompts) && prompts.length > MAX_BATCH)
    throw invalid(`A batch has at most ${MAX_BATCH} prompts.`);
  if (Array.isArray(evidence) && evidence.length > MAX_EVIDENCE)
    throw invalid(`There can be at most ${MAX_EVIDENCE} pieces of evidence.`);
  if (schema !== undefined && JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    throw invalid(`A schema has at most ${MAX_SCHEMA_CHARS} characters.`);
};

const DEFAULT_HITS = 50;
const DEFAULT_RANKED = 10;

const OUT_OF_TOKENS =
  "Its tokens were used up before there was any text: ask for less; the operator's limit is mcp.llm.max_output_tokens.";

const checkText = (value: unknown, name: string): string => {
  if (typeof value !== "string" || value === "") throw invalid(`${name} has to be a text that is not empty.`);
  return value.toWellFormed();
};

const textOf = (args: Args, name: string): string => checkText(args[name], name);

const wholeOf = (args: Args, name: string, value: number): number => {
  const given = args[name] ?? value;
  if (!Number.isSafeInteger(given) || Number(given) < 1)
    throw invalid(`${name} has to be a number of 1 or more.`);
  return Number(given);
};

/** A reply without text is no answer; one that is not complete says so. */
const readSubAnswer = ({ text, finish }: Generation): string => {
  if (text.trim() === "") {
    throw new LlmcError("provider_error", `The model gave no answer (${finish}).`, {
      ...(finish === "length" ? { hint: OUT_OF_TOKENS } : {}),
      retryable: false,
    });
  }
  return finish === "stop" || finish === "other" ? text : `${text}\n[cut off: ${finish}]`;
};

const askSub = async (state: NodeState, prompt: string, signal: AbortSignal): Promise<string> => {
  const { tree, traced } = state;
  const id = `${traced.id}:${++state.calls}`;
  const call: TracedCall = {
    id,
    model: tree.sub.name,
    prompt: measure(prompt),
    startMs: tree.trace.at(),
    endMs: 0,
  };
  const messages = [
    { role: "system", text: SUB_SYSTEM_PROMPT },
    { role: "user", text: prompt },
  ] as const;
  const { generation, isRepeated, wasSent } = tree.askOnce(tree.sub, messages, traced.depth + 1, signal);
  if (isRepeated) call.isRepeated = true;
  tree.trace.addCall(traced, call);
  try {
    const got = await generation;
    if (!isRepeated) addCost(call, got);
    const answer = readSubAnswer(got);
    call.answer = tree.trace.text(answer);
    return answer;
  } catch (thrown) {
    call.error = toLlmcError(thrown).code;
    throw thrown;
  } finally {
    call.endMs = tree.trace.at();
    // What is refused unsent costs nothing, and could be repeated until no room is left for what was paid for.
    if (wasSent() && !isRepeated) tree.trace.keepText(call.prompt, prompt);
    const how = call.error ?? (isRepeated ? "answered before" : "ok");
    tree.report(0, { node: traced.id, kind: "call", detail: `${id} ${call.model}: ${how}` });
  }
};

const failureOf = (
  thrown: unknown,
): { readonly code: string; readonly message: string; readonly retryable: boolean } => {
  const { code, message, hint, retryable } = toLlmcError(thrown);
  return { code, message: hint === undefined ? message : `${message} ${hint}`, retryable };
};

const askBatch: Handler = async (state, { prompts }, signal) => {
  if (!Array.isArray(prompts)) throw invalid("A batch is a list of prompts.");
  const answer = async (prompt: unknown, at: number): Promise<unknown> => {
    try {
      return await askSub(state, checkText(prompt, `Prompt ${at}`), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const { code, message } = failureOf(thrown);
      return { error: { code, message } };
    }
  };
  return state.tree.withPrompts(prompts.length, () => Promise.all(prompts.map(answer)));
};

/** V8 finds a string of this length in linear time, whatever its characters are. */
const LOOKED_FOR_CHARS = 128;
const SEARCHED_CHARS = 256 * 1024;

/** Whether a text begins like a part of the context: one that a program cut out is of the same language. */
const isCutFrom = async (text: string, context: Context, signal: AbortSignal): Promise<boolean> => {
  const beginning = text.slice(0, LOOKED_FOR_CHARS);
  const pace = createPace(signal);
  for (let at = 0; at < context.text.length; at += SEARCHED_CHARS) {
    if (context.text.slice(at, at + SEARCHED_CHARS + LOOKED_FOR_CHARS).includes(beginning)) return true;
    await pace();
  }
  return false;
};

const contextOf = async (
  { context, offsets, tree }: NodeState,
  args: Args,
  signal: AbortSignal,
): Promise<Context> => {
  if (args["context"] !== undefined) {
    const text = textOf(args, "context");
    const isCut = await tree.inSearchSlot(() => isCutFrom(text, context, signal), signal);
    return Context.of(text, isCut ? { language: context.language } : {}, signal);
  }
  if (args["start"] === undefined && args["end"] === undefined) return context;
  const { start, end } = isSpan(args) ? offsets.fromGuest(args) : { start: 0, end: 0 };
  const part = context.text.slice(start, end);
  if (part === "") throw invalid("{start, end} is not a part of the context.");
  return Context.of(part, { language: context.language }, signal);
};

/** Evidence with positions translated into ours; everything else is left for the check of the answer. */
const evidenceOf = ({ offsets }: NodeState, evidence: unknown): unknown =>
  Array.isArray(evidence)
    ? evidence.map((one: unknown) => (isSpan(one) ? offsets.fromGuest(one) : one))
    : isSpan(evidence)
      ? offsets.fromGuest(evidence)
      : evidence;

const startChild: Handler = async (state, args, signal) => {
  const { tree, traced } = state;
  const task = textOf(args, "task");
  const { maxDepth } = tree.request.limits;
  if (traced.depth >= maxDepth) {
    throw new LlmcError("budget_exceeded", `Analyses may be nested ${maxDepth} deep, and this one is.`, {
      hint: `Use llm or ${batchName(tree.request.language)}.`,
      details: { limit: "max_depth" },
    });
  }
  tree.budget.refuseIfSpent();
  const schema = isRecord(args["schema"]) ? args["schema"] : undefined;
  // Before its text is looked for, which takes longer for some: they are numbered in the order in which they were started.
  const id = `${traced.id}.${++state.children}`;
  return state.startChild({ id, task, context: await contextOf(state, args, signal), schema, signal });
};

const budgetOf = ({ tree }: NodeState) => {
  const { costUsd, budgetUsd, calls, inputTokens, outputTokens } = tree.budget.spending();
  const { calls: maxCalls, tokens } = tree.request.limits;
  return {
    usd_left: Math.max(0, budgetUsd - costUsd),
    calls_left: Math.max(0, maxCalls - calls),
    tokens_left: Math.max(0, tokens - inputTokens - outputTokens),
  };
};

const toGuestHit = (hit: Hit, offsets: Offsets): Hit => ({
  ...offsets.toGuest(hit),
  match: offsets.toGuest({ start: hit.match, end: hit.match }).start,
});

const HANDLERS: Readonly<Record<string, Handler>> = {
  llm: (state, args, signal) =>
    state.tree.withPrompts(1, () => askSub(state, textOf(args, "prompt"), signal)),
  llmBatch: askBatch,
  rlm: startChild,
  grep: async ({ context, tree, offsets }, args, signal) => {
    const limit = wholeOf(args, "limit", DEFAULT_HITS);
    const pattern = textOf(args, "pattern");
    const found = await tree.inSearchSlot(
      () => grepContext(context, pattern, limit, tree.parts.grep, signal),
      signal,
    );
    return { ...found, hits: found.hits.map((hit) => toGuestHit(hit, offsets)) };
  },
  rank: async ({ context, tree, offsets }, args, signal) => {
    const [query, count] = [textOf(args, "query"), wholeOf(args, "k", DEFAULT_RANKED)];
    const found = await tree.inSearchSlot(() => rankContext(context, query, count, signal), signal);
    return found.map((one) => offsets.toGuest(one));
  },
  outline: async ({ context, offsets }) =>
    (await outlineForProgram(context)).map((one) => offsets.toGuest(one)),
  symbol: async ({ context, offsets }, args) =>
    offsets.toGuest(await findSymbol(context, textOf(args, "name"))),
  budget: async (state) => budgetOf(state),
  draft: async (state, { value }) => {
    state.draft = value;
  },
  finish: async (state, { value, evidence }) => {
    state.finished = { value, evidence: evidenceOf(state, evidence) };
  },
};

/** Answers what a program of the session asks for. Nothing that it sends is believed: names, arguments and sizes are checked. */
export const answerCalls =
  (state: NodeState): CallTool =>
  async (name, text, signal): Promise<CallAnswer> => {
    try {
      const handler = Object.hasOwn(HANDLERS, name) ? HANDLERS[name] : undefined;
      if (handler === undefined) throw invalid("There is no such function in an analysis.");
      const args = parseGuarded(text);
      if (!isRecord(args)) throw invalid("The arguments are not an object.");
      checkBounds(args);
      const both = AbortSignal.any([signal, state.signal]);
      both.throwIfAborted();
      return { value: JSON.stringify((await handler(state, args, both)) ?? null) };
    } catch (thrown) {
      return { failure: failureOf(thrown) };
    }
  };
