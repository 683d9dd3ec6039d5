import { LlmcError } from "../base/error.ts";
import { agentMessages, type ContextSnippet } from "./agent-prompt.ts";
import type { Generation, Models, Usage } from "./contract.ts";
import type { Role } from "./roles.ts";

export interface AgentSettings {
  readonly model: string;
  readonly maxOutputTokens: number;
  readonly maxInputTokens: number;
  readonly timeoutMs: number;
  /** 0: none is looked for. */
  readonly contextTokens: number;
  /** Words that replace those of a role; empty: its own. */
  readonly roles: Readonly<Record<Role, string>>;
}

export interface AgentQuestion {
  readonly role: Role;
  readonly userMsg: string;
  readonly injectContext: string;
  readonly signal: AbortSignal;
  readonly onText?: ((piece: string) => void) | undefined;
}

export interface AgentAnswer {
  readonly text: string;
  readonly model: string;
  readonly finish: Generation["finish"];
  readonly usage: Usage;
  readonly costUsd: number | undefined;
  /** Where the context came from, as `path#Lx-Ly`. */
  readonly sources: readonly string[];
}

interface AgentParts {
  readonly models: Models;
  readonly settings: () => AgentSettings;
  /** The workspace's own retrieval, with its own bounds. */
  readonly search: (
    query: string,
    budgetTokens: number,
    signal: AbortSignal,
  ) => Promise<readonly ContextSnippet[]>;
  readonly countTokens: () => Promise<(text: string) => number>;
  readonly newCode: () => string;
  /** Told of every answer, also of one that is of no use: it was paid for. */
  readonly onGenerated: (model: string, generation: Generation) => void;
}

/** Retrieval takes no longer question; the head of a long message says what it is about. */
const MAX_QUERY_CHARS = 20_000;

/** Characters of the longest token there is: beyond so many for each, nothing needs to be counted. */
const MAX_TOKEN_CHARS = 128;

const tooLong = (most: number): LlmcError =>
  new LlmcError("file_too_large", `The message and its context are longer than ${most} tokens.`, {
    hint: "Send less; the operator's limit is mcp.llm.max_input_tokens.",
  });

const nothingSaid = (model: string, finish: Generation["finish"]): LlmcError =>
  new LlmcError("provider_error", `${model} ended without a word (${finish}).`, {
    hint:
      finish === "length"
        ? "It spent its tokens before it answered: the operator raises mcp.llm.max_output_tokens."
        : "Ask in other words, or try again.",
    retryable: finish !== "length",
  });

/** Asks the configured model in a role, with what the workspace has on the message beside it. */
export const createAgent = ({ models, settings, search, countTokens, newCode, onGenerated }: AgentParts) => ({
  ask: async ({ role, userMsg, injectContext, signal, onText }: AgentQuestion): Promise<AgentAnswer> => {
    const { model: name, maxOutputTokens, maxInputTokens, timeoutMs, contextTokens, roles } = settings();
    // First, so that a refusal costs nothing and looks for nothing.
    const model = await models.open(name);
    if (userMsg.length + injectContext.length > maxInputTokens * MAX_TOKEN_CHARS)
      throw tooLong(maxInputTokens);
    const snippets =
      contextTokens === 0
        ? []
        : await search(userMsg.slice(0, MAX_QUERY_CHARS).toWellFormed(), contextTokens, signal);
    const messages = agentMessages({
      role,
      replacement: roles[role],
      snippets,
      injected: injectContext,
      userMsg,
      code: newCode(),
    });
    const count = await countTokens();
    const tokens = messages.reduce((sum, { text }) => sum + count(text), 0);
    if (tokens > maxInputTokens) throw tooLong(maxInputTokens);
    const generation = await model.generate({ messages, maxOutputTokens, timeoutMs, signal, onText });
    onGenerated(name, generation);
    const { text, finish, usage, costUsd } = generation;
    if (text.trim() === "") throw nothingSaid(name, finish);
    return { text, model: name, finish, usage, costUsd, sources: snippets.map(({ src }) => src) };
  },
});
