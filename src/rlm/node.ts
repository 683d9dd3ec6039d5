import { toLlmcError } from "../base/error.ts";
import type { Generation, Message } from "../llm/contract.ts";
import type { ProgramResult } from "../sandbox/contract.ts";
import { type Judged, judgeAnswer } from "./answers.ts";
import type { Context } from "./context.ts";
import type { AnswerSchema } from "./contract.ts";
import { Interpreter } from "./interpreter.ts";
import { outlineContext } from "./navigation.ts";
import { MAX_EMPTY, outOfTokens, outOfTurns, refused } from "./node-failures.ts";
import { offsetsOf } from "./offsets.ts";
import { FEEDBACK, firstMessage, nextMessage, systemPrompt } from "./prompts.ts";
import { readReply } from "./reply.ts";
import { headAndTail } from "./shown-text.ts";
import { answerCalls, type NodeState } from "./sub-calls.ts";
import { addCost, digest, digestOf, type TracedNode, type TracedTurn } from "./trace.ts";
import type { Tree } from "./tree.ts";

interface NodeRequest {
  readonly id: string;
  readonly depth: number;
  readonly task: string;
  readonly context: Context;
  readonly schema: AnswerSchema | undefined;
  /** Ends with the session, or with the program that started this analysis. */
  readonly signal: AbortSignal;
}

export type NodeAnswer = Extract<Judged, { readonly value: unknown }>;

/** The outcome of one turn: an accepted answer, or what the model is shown next. */
type TurnEnd =
  | { readonly answer: NodeAnswer }
  | {
      readonly shown: string;
      readonly problem?: string;
      /** Why its answer was not taken. */
      readonly rejected?: string;
    };

const showError = ({ error }: ProgramResult): string => {
  if (error === undefined) return "";
  const at = error.line === undefined ? "" : ` (line ${error.line})`;
  const lost =
    error.ended === undefined
      ? ""
      : " The interpreter was started again: `context` is there, your variables are lost.";
  return `${error.name}: ${error.message}${at}${lost}`;
};

const showResult = (result: ProgramResult): string => {
  const { output, outputCut, result: value } = result;
  return (
    [
      headAndTail(output.replace(/\n$/, "")),
      ...(outputCut ? ["[the output was too long and was cut]"] : []),
      ...(value === undefined || value === "null" ? [] : [`=> ${headAndTail(value, 1500, 500)}`]),
      showError(result),
    ]
      .filter((part) => part !== "")
      .join("\n") || "[nothing was printed]"
  );
};

/** Counts what went wrong with a program that ran. */
const countResult = ({ tree: { counts } }: NodeState, { error, outputCut }: ProgramResult): void => {
  if (outputCut) counts.cut_outputs++;
  if (error !== undefined) counts.failed_programs++;
  if (error?.ended !== undefined) counts.ended_interpreters++;
};

const runProgram = async (
  state: NodeState,
  interpreter: Interpreter,
  code: string,
  schema: AnswerSchema | undefined,
): Promise<TurnEnd> => {
  state.finished = undefined;
  const result = await interpreter.run(code);
  countResult(state, result);
  const shown = showResult(result);
  if (state.finished === undefined) {
    return { shown, ...(result.error === undefined ? {} : { problem: "failed_program" }) };
  }
  if (result.error !== undefined) {
    state.tree.counts.rejected_answers++;
    return {
      shown: `${shown}\nfinish was called, but the program failed: the answer was not taken.`,
      problem: "rejected_answer",
      rejected: "its program failed",
    };
  }
  const judged = await judgeAnswer(state.finished, state.context, schema, state.signal);
  if ("value" in judged) return { answer: judged };
  state.tree.counts.rejected_answers++;
  return {
    shown: `${shown}\n${judged.problem} The answer was not taken.`,
    problem: "rejected_answer",
    rejected: judged.reason,
  };
};

interface Conversation {
  readonly messages: Message[];
  /** The last program and its result: the model gets a remark when it repeats itself. */
  last: string;
  /** Replies without text in a row. */
  empty: number;
}

/** A reply without text: the model is told why once, and then the analysis ends. */
const readEmpty = (
  { tree: { counts, request }, traced: { model } }: NodeState,
  conversation: Conversation,
  finish: Generation["finish"],
): TurnEnd => {
  const isLast = ++conversation.empty >= MAX_EMPTY;
  if (finish === "length") {
    counts.out_of_tokens++;
    if (isLast) throw outOfTokens(model, request.limits.maxOutputTokens);
    return { shown: FEEDBACK.out_of_tokens, problem: "out_of_tokens" };
  }
  counts.refused++;
  if (isLast) throw refused(model);
  return { shown: FEEDBACK.refused, problem: "refused" };
};

const readTurn = async (
  state: NodeState,
  interpreter: Interpreter,
  conversation: Conversation,
  { text, finish }: Generation,
  schema: AnswerSchema | undefined,
  traced: TracedTurn,
): Promise<TurnEnd> => {
  const { counts, request, trace } = state.tree;
  if (text.trim() === "" || finish === "filtered") return readEmpty(state, conversation, finish);
  conversation.empty = 0;
  const reply = readReply(text, request.language);
  if (reply.kind !== "code") {
    counts.without_code++;
    return { shown: FEEDBACK[reply.kind], problem: reply.kind };
  }
  traced.code = trace.text(reply.code);
  const end = await runProgram(state, interpreter, reply.code, schema);
  if ("answer" in end) return end;
  const current = digest(`${reply.code}\n${end.shown}`);
  if (current !== conversation.last) {
    conversation.last = current;
    return end;
  }
  counts.repeated++;
  return { ...end, shown: `${end.shown}\n${FEEDBACK.repeated}`, problem: "repeated" };
};

const takeTurns = async (
  state: NodeState,
  interpreter: Interpreter,
  conversation: Conversation,
  schema: AnswerSchema | undefined,
): Promise<NodeAnswer> => {
  const { tree, traced: node } = state;
  const { maxTurns } = tree.request.limits;
  const model = node.depth === 0 ? tree.root : tree.sub;
  const rejected: string[] = [];
  for (let turn = 1; turn <= maxTurns; turn++) {
    const traced: TracedTurn = { turn, startMs: tree.trace.at(), endMs: 0 };
    node.turns.push(traced);
    tree.counts.turns++;
    tree.report(node.depth === 0 ? turn : 0, {
      node: node.id,
      kind: "turn",
      detail: `turn ${turn}/${maxTurns}`,
    });
    try {
      const generation = await tree.askTurn(model, conversation.messages, node.depth, state.signal);
      traced.repliedMs = tree.trace.at();
      traced.reply = tree.trace.text(generation.text);
      addCost(traced, generation);
      const end = await readTurn(state, interpreter, conversation, generation, schema, traced);
      if ("answer" in end) return end.answer;
      traced.output = tree.trace.text(end.shown);
      if (end.problem !== undefined) traced.problem = end.problem;
      if (end.rejected !== undefined) rejected.push(end.rejected);
      conversation.messages.push(
        { role: "assistant", text: headAndTail(generation.text).trim() || "[no reply]" },
        { role: "user", text: nextMessage(end.shown, maxTurns - turn) },
      );
    } finally {
      traced.endMs = tree.trace.at();
    }
  }
  throw outOfTurns(node.turns, rejected);
};

const openNode = ({ trace, root, sub }: Tree, { id, depth, task, context }: NodeRequest): TracedNode => {
  const traced: TracedNode = {
    id,
    depth,
    model: (depth === 0 ? root : sub).name,
    task: trace.text(task),
    contextBytes: context.bytes,
    contextSha256: digestOf(context.pieces()),
    startMs: trace.at(),
    endMs: 0,
    turns: [],
    calls: [],
  };
  trace.nodes.push(traced);
  return traced;
};

const startChildOf =
  (tree: Tree, parent: () => NodeState): NodeState["startChild"] =>
  async (task, context, schema, signal) => {
    const state = parent();
    const { id, depth } = state.traced;
    tree.counts.children++;
    const child = { id: `${id}.${++state.children}`, depth: depth + 1, task, context, schema, signal };
    return tree.inTurn(child.depth, signal, async () => {
      // Those before it may have made the last call: no interpreter is started for one that can ask nothing.
      tree.budget.refuseIfSpent();
      const { value, text } = await runNode(tree, child);
      return schema === undefined ? text : value;
    });
  };

/** One analysis: an interpreter, a conversation, and turns until an answer is taken or a limit is reached. */
export const runNode = async (
  tree: Tree,
  request: NodeRequest,
  onDraft: (draft: unknown) => void = () => {},
): Promise<NodeAnswer> => {
  const { depth, task, context, schema, signal } = request;
  const { language, limits, allowPartial } = tree.request;
  const traced = openNode(tree, request);
  tree.report(0, { node: traced.id, kind: "child", detail: traced.model });
  const state: NodeState = {
    tree,
    context,
    traced,
    offsets: offsetsOf(context, language),
    signal,
    startChild: startChildOf(tree, () => state),
    finished: undefined,
    draft: undefined,
    calls: 0,
    children: 0,
  };
  const interpreter = new Interpreter({
    openGuest: tree.parts.openGuest,
    language,
    context,
    limits,
    callTool: answerCalls(state),
    signal,
  });
  try {
    // If it fails, running the first program reports that.
    interpreter.prepare().catch(() => {});
    const outline = await outlineContext(context);
    const messages: Message[] = [
      { role: "system", text: systemPrompt(language, { allowPartial, canNest: depth < limits.maxDepth }) },
      { role: "user", text: firstMessage(task, context, outline, limits.maxTurns, schema) },
    ];
    const answer = await takeTurns(state, interpreter, { messages, last: "", empty: 0 }, schema);
    traced.outcome = "ok";
    traced.answer = tree.trace.text(answer.text);
    return answer;
  } catch (thrown) {
    traced.outcome = toLlmcError(thrown).code;
    onDraft(state.draft);
    throw thrown;
  } finally {
    traced.endMs = tree.trace.at();
    tree.report(0, { node: traced.id, kind: "end", detail: traced.outcome ?? "" });
    await interpreter.close();
  }
};
