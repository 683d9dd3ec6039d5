import { LlmcError } from "../base/error.ts";
import type { Generation, Message, Model, Usage } from "./contract.ts";
import { MAX_CHARS_PER_TOKEN } from "./generate.ts";
import { type Role, systemPromptOf } from "./roles.ts";

interface ContextSnippet {
  /** `path#Lx-Ly`. */
  readonly src: string;
  readonly text: string;
}

interface AgentPromptParts {
  readonly role: Role;
  /** Replaces the built-in system prompt of the role, unless it is empty. */
  readonly replacement: string;
  readonly snippets: readonly ContextSnippet[];
  /** Context that the caller sent. */
  readonly injected: string;
  readonly userMsg: string;
  /** Random for each call, so that no file can contain the marker that ends its own block. */
  readonly code: string;
}

/** A path may contain a line break, followed by text that looks like ours. */
const oneLine = (src: string): string => src.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "?");

const block = (title: string, body: string, code: string): string =>
  `--- context ${code}: ${title} ---\n${body}\n--- end of context ${code} ---`;

/** The role, then the context as data, then the unchanged message. */
export const agentMessages = (parts: AgentPromptParts): readonly Message[] => {
  const { role, replacement, snippets, injected, userMsg, code } = parts;
  const found = snippets.map(({ src, text }) => `[${oneLine(src)}]\n${text}`).join("\n\n");
  const blocks = [
    ...(snippets.length === 0 ? [] : [block("from files of the workspace", found, code)]),
    ...(injected.trim() === "" ? [] : [block("from the caller", injected, code)]),
  ];
  return [
    { role: "system", text: systemPromptOf(role, replacement) },
    { role: "user", text: [...blocks, userMsg].join("\n\n") },
  ];
};

export interface AgentSettings {
  readonly model: string;
  readonly maxOutputTokens: number;
  readonly maxInputTokens: number;
  readonly timeoutMs: number;
  /** 0: no context is retrieved. */
  readonly contextTokens: number;
  /** System prompts that replace the built-in ones, unless they are empty. */
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
  /** Opens a model for whoever asks. */
  readonly open: (name: string) => Promise<Model>;
  readonly settings: () => AgentSettings;
  /** The retrieval of the workspace, with its own limits. */
  readonly search: (
    query: string,
    budgetTokens: number,
    signal: AbortSignal,
  ) => Promise<readonly ContextSnippet[]>;
  readonly countTokens: () => Promise<(text: string) => number>;
  readonly newCode: () => string;
  /** Called for every answer, even for an unusable one, because it costs money. */
  readonly onGenerated: (model: string, generation: Generation) => void;
}

/** The limit of retrieval. The beginning of a long message says what it is about. */
const MAX_QUERY_CHARS = 20_000;

const tooLong = (maxTokens: number): LlmcError =>
  new LlmcError("file_too_large", `The message and its context are longer than ${maxTokens} tokens.`, {
    hint: "Send less; the operator's limit is mcp.llm.max_input_tokens.",
  });

const emptyAnswer = (model: string, finish: Generation["finish"]): LlmcError =>
  new LlmcError("provider_error", `${model} returned an empty answer (${finish}).`, {
    hint:
      finish === "length"
        ? "It used up its tokens before it answered. The operator can raise mcp.llm.max_output_tokens."
        : "Rephrase the message, or try again.",
    retryable: finish !== "length",
  });

/** Asks the configured model in a role, with context of the workspace for the message. */
export const createAgent = ({ open, settings, search, countTokens, newCode, onGenerated }: AgentParts) => ({
  ask: async ({ role, userMsg, injectContext, signal, onText }: AgentQuestion): Promise<AgentAnswer> => {
    const { model: name, maxOutputTokens, maxInputTokens, timeoutMs, contextTokens, roles } = settings();
    // Comes first, so that a refusal costs no retrieval.
    const model = await open(name);
    // Too long without counting.
    if (userMsg.length + injectContext.length > maxInputTokens * MAX_CHARS_PER_TOKEN)
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
    if (text.trim() === "") throw emptyAnswer(name, finish);
    return { text, model: name, finish, usage, costUsd, sources: snippets.map(({ src }) => src) };
  },
});
