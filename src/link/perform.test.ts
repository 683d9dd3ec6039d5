import { expect, test } from "vitest";
import { type Question, QuestionsAsked } from "../core/contract.ts";
import type { Core } from "../core/core.ts";
import { perform } from "./perform.ts";
import type { LinkRequest, LinkWork } from "./request.ts";
import { createSealedState } from "./sealed-state.ts";

const QUESTION: Question = {
  kind: "form",
  message: "Which?",
  schema: { type: "object", properties: {}, default: 1n },
};

/** A core in which a custom module asks with what is not JSON. */
const core = {
  readResource: async () => {
    throw new QuestionsAsked({ which: QUESTION }, { left: 1n });
  },
  call: async () => ({ kind: "questions", questions: { which: QUESTION }, state: undefined }),
} as unknown as Core;

const WORK: readonly LinkWork[] = [
  { method: "readResource", uri: "notes://all" },
  { method: "call", tool: "ask_user", args: {} },
];

test.each(WORK)(
  "REQ-I7 FAIL-D2 $method that asks with what is not JSON is answered with an error",
  async (work) => {
    const request: LinkRequest = {
      n: 1,
      round: 0,
      generation: 1,
      origin: {
        agentId: "",
        sessionId: "",
        model: "",
        budgetProfile: "",
        correlationId: "abcdefgh",
        route: null,
        traceparent: null,
        progress: false,
        asks: [],
        answers: null,
        state: null,
      },
      work,
    };
    const parts = {
      core,
      state: createSealedState(Buffer.from("key"), Date.now),
      connection: "c",
      newId: () => "x",
    };
    const line = await perform(parts, request, new AbortController().signal, () => {});
    expect(line).toContain("internal_error");
  },
);
