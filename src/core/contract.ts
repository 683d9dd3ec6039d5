/** The types of tools that doors need; doors never import tools themselves. */

export { CONTEXT, LABELS, PRINCIPAL, RESOURCES } from "../policy/cedar/model.ts";
export { describeAs, type PolicyProblem, positionOf } from "../policy/cedar/positions.ts";
export type {
  Caller,
  LogLevel,
  Question,
} from "../tools/contract.ts";
export { LOCAL, QuestionsAsked, UNANSWERED } from "../tools/contract.ts";
export { EFFECTS } from "../tools/tool.ts";
