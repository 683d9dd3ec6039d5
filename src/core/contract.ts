/** The words of tools that doors need; doors never import tools themselves. */

export type {
  Caller,
  ContentBlock,
  LogLevel,
  Prompt,
  PromptMessage,
  Question,
  Resource,
  ResourceContent,
  ResourceTemplate,
} from "../tools/contract.ts";
export { QuestionsAsked } from "../tools/contract.ts";
export { EFFECTS } from "../tools/tool.ts";
