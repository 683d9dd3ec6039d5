/** The types of tools that doors need; doors never import tools themselves. */

export type {
  Caller,
  LogLevel,
  Question,
} from "../tools/contract.ts";
export { LOCAL, QuestionsAsked } from "../tools/contract.ts";
export { EFFECTS } from "../tools/tool.ts";
