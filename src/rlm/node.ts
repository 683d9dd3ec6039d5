import { toLlmcError } from "../base/error.ts";
import type { Message } from "../llm/contract.ts";
import type { AnswerSchema } from "./contract.ts";
import { Interpreter } from "./interpreter.ts";
import { outlineContext } from "./navigation.ts";
import { outOfTurns } from "./node-failures.ts";
import { offsetsOf } from "./offsets.ts";
import { firstMessage, nextMessage, systemPrompt } from "./prompts.ts";
import { headAndTail } from "./shown-text.ts";
import { answerCalls, type ChildRequest, type NodeState } from "./sub-calls.ts";
import { addCost, type TracedNode, type TracedTurn } from "./trace.ts";
import type { Tree } from "./tree.ts";
import { type Conversation, type NodeAnswer, readTurn } from "./turn.ts";

interface NodeRequest extends ChildRequest {
  readonly depth: number;
}

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
    contextSha256: context.sha256,
    startMs: trace.at(),
    endMs: 0,
    turns: [],
    calls: [],
  };
  trace.addNode(traced);
  return traced;
};

const startChildOf =
  (tree: Tree, depth: number): NodeState["startChild"] =>
  async (child) => {
    tree.counts.children++;
    return tree.inChildSlot(depth, child.context.text.length, child.signal, async () => {
      // Those before it may have made the last call: no interpreter is started for one that can ask nothing.
      tree.budget.refuseIfSpent();
      const { value, text } = await runNode(tree, { ...child, depth });
      return child.schema === undefined ? text : value;
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
  const offsets = await offsetsOf(context, language, signal);
  const traced = openNode(tree, request);
  tree.report(0, { node: traced.id, kind: "child", detail: traced.model });
  const state: NodeState = {
    tree,
    context,
    traced,
    offsets,
    signal,
    startChild: startChildOf(tree, depth + 1),
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
