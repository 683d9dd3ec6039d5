import type { Message } from "./contract.ts";
import { type Role, systemPromptOf } from "./roles.ts";

export interface ContextSnippet {
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
