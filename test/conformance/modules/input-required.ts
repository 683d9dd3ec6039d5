import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import type { CallContext, Question } from "../../../src/tools/contract.ts";
import { addTool, text } from "../fixture.ts";

const form = (message: string, field: string, type: "string" | "boolean" = "string"): Question => ({
  kind: "form",
  message,
  schema: { type: "object", properties: { [field]: { type } }, required: [field] },
});

const sampling = (prompt: string, maxTokens = 100): Question => ({
  kind: "sampling",
  request: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens },
});

const roots: Question = { kind: "roots" };

/** Answers to all of the questions; while one is missing, this round ends with asking them. */
const answersTo = (
  call: CallContext,
  questions: Readonly<Record<string, Question>>,
  state?: unknown,
): Readonly<Record<string, unknown>> => {
  const answers = call.answers ?? {};
  return Object.keys(questions).every((key) => key in answers) ? answers : call.ask(questions, state);
};

const shown = (value: unknown) => [text(JSON.stringify(value))];

const addOneRound = (kit: ModuleKit): void => {
  addTool(kit, {
    name: "test_input_required_result_elicitation",
    description: "Asks for a name.",
    answer: (call) => shown(answersTo(call, { user_name: form("What is your name?", "name") })["user_name"]),
  });
  addTool(kit, {
    name: "test_streaming_elicitation",
    description: "Reports progress, then asks for a name.",
    answer: async (call) => {
      await call.progress(0, 1);
      return shown(answersTo(call, { user_name: form("What is your name?", "name") })["user_name"]);
    },
  });
  addTool(kit, {
    name: "test_input_required_result_sampling",
    description: "Asks the client's model for a capital.",
    answer: (call) =>
      shown(answersTo(call, { capital_question: sampling("What is the capital of France?") })),
  });
  addTool(kit, {
    name: "test_missing_capability",
    description: "Needs the client's model.",
    answer: (call) => shown(answersTo(call, { needed: sampling("Say something.") })),
  });
  addTool(kit, {
    name: "test_input_required_result_list_roots",
    description: "Asks for the client's roots.",
    answer: (call) => shown(answersTo(call, { client_roots: roots })),
  });
};

const addCareful = (kit: ModuleKit): void =>
  addTool(kit, {
    name: "test_input_required_result_capabilities",
    description: "Asks only what the client can answer.",
    answer: (call) =>
      shown(
        answersTo(call, {
          ...(call.canAsk("form") ? { user_name: form("What is your name?", "name") } : {}),
          ...(call.canAsk("sampling") ? { greeting: sampling("Generate a greeting") } : {}),
        }),
      ),
  });

const addWithState = (kit: ModuleKit): void => {
  addTool(kit, {
    name: "test_input_required_result_request_state",
    description: "Asks for a confirmation and finds its own state again.",
    answer: (call) => {
      answersTo(call, { confirm: form("Please confirm", "ok", "boolean") }, { round: 1 });
      return [text(JSON.stringify(call.state) === '{"round":1}' ? "state-ok" : "state-lost")];
    },
  });
  addTool(kit, {
    name: "test_input_required_result_tampered_state",
    description: "Leaves state that must come back unchanged.",
    answer: (call) =>
      shown(answersTo(call, { confirm: form("Please confirm", "ok", "boolean") }, { round: 1 })),
  });
  addTool(kit, {
    name: "test_input_required_result_multiple_inputs",
    description: "Asks the user, the model and for the roots at once.",
    answer: (call) =>
      shown(
        answersTo(
          call,
          {
            user_name: form("What is your name?", "name"),
            greeting: sampling("Generate a greeting", 50),
            client_roots: roots,
          },
          { round: 1 },
        ),
      ),
  });
  addTool(kit, {
    name: "test_input_required_result_multi_round",
    description: "Asks for a name, then for a colour.",
    answer: (call) => {
      if (call.state === undefined)
        return call.ask({ step1: form("Step 1: What is your name?", "name") }, { round: 1 });
      const step2 = call.answers?.["step2"];
      if (step2 !== undefined) return shown({ state: call.state, step2 });
      const name = call.answers?.["step1"];
      return call.ask({ step2: form("Step 2: What is your favorite color?", "color") }, { round: 2, name });
    },
  });
};

/** Questions as the 2026 revision asks them: results that wait for the client's next request. */
export const register = (kit: ModuleKit): void => {
  addOneRound(kit);
  addCareful(kit);
  addWithState(kit);
};
