import type { Generation, Message } from "../llm/contract.ts";
import type { ProgramResult } from "../sandbox/contract.ts";
import { type Judged, judgeAnswer } from "./answers.ts";
import type { AnswerSchema } from "./contract.ts";
import type { Interpreter } from "./interpreter.ts";
import { MAX_EMPTY, outOfTokens, refused } from "./node-failures.ts";
import { FEEDBACK } from "./prompts.ts";
import { readReply } from "./reply.ts";
import { headAndTail } from "./shown-text.ts";
import type { NodeState } from "./sub-calls.ts";
import { digest, type TracedTurn } from "./trace.ts";

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

export interface Conversation {
  readonly messages: Message[];
  /** Digest of the last program and its result: the model is told when it repeats itself. */
  last: string;
  /** Replies without text in a row. */
  empty: number;
}

/** A reply without text: the model is told so once; the second time, the analysis ends. */
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

/** Handles a reply of the model: runs its program, or tells the model what is wrong with the reply. */
export const readTurn = async (
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
