import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import type { CallContext } from "../../../src/tools/contract.ts";
import { addTool, text } from "../fixture.ts";

const KEY = "answer";

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const CHOICES = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
      { const: "value3", title: "Third Option" },
    ],
  },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: {
    type: "array",
    items: {
      anyOf: [
        { const: "value1", title: "First Choice" },
        { const: "value2", title: "Second Choice" },
        { const: "value3", title: "Third Choice" },
      ],
    },
  },
};

/** The user's answer to a form; the first round ends with the question. */
const askForm = (
  call: CallContext,
  message: string,
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
): unknown =>
  call.answers?.[KEY] ??
  call.ask({ [KEY]: { kind: "form", message, schema: { type: "object", properties, required } } });

const askModel = (call: CallContext, prompt: string): unknown =>
  call.answers?.[KEY] ??
  call.ask({
    [KEY]: {
      kind: "sampling",
      request: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens: 100 },
    },
  });

/** Questions to the client's user and model, as the 2025 revisions ask them: by requests of the server. */
export const register = (kit: ModuleKit): void => {
  kit.tool({
    name: "test_sampling",
    description: "Asks the client's model.",
    effect: "read",
    input: kit.z.strictObject({ prompt: kit.z.string() }),
    run: async ({ prompt }, _ports, call) => askModel(call, prompt),
    render: (answer) => `LLM response: ${JSON.stringify(answer)}`,
  });
  kit.tool({
    name: "test_elicitation",
    description: "Asks the client's user.",
    effect: "read",
    input: kit.z.strictObject({ message: kit.z.string() }),
    run: async ({ message }, _ports, call) =>
      askForm(
        call,
        message,
        {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        },
        ["username", "email"],
      ),
    render: (answer) => `User response: ${JSON.stringify(answer)}`,
  });
  addTool(kit, {
    name: "test_elicitation_sep1034_defaults",
    description: "Asks with a default in every field.",
    answer: (call) => [
      text(`Elicitation completed: ${JSON.stringify(askForm(call, "Check the defaults", DEFAULTS))}`),
    ],
  });
  addTool(kit, {
    name: "test_elicitation_sep1330_enums",
    description: "Asks with every form of choice.",
    answer: (call) => [text(`Elicitation completed: ${JSON.stringify(askForm(call, "Choose", CHOICES))}`)],
  });
};
