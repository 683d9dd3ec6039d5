import type { Message } from "./contract.ts";
import { type Role, systemPromptOf } from "./roles.ts";

export interface ContextSnippet {
  /** `path#Lx-Ly`. */
  readonly src: string;
  readonly text: string;
}

interface AgentPromptParts {
  readonly role: Role;
  /** Replaces the role's own words; empty: those. */
  readonly replacement: string;
  readonly snippets: readonly ContextSnippet[];
  /** Context that the caller brought along. */
  readonly injected: string;
  readonly userMsg: string;
  /** Unguessable, and new for each call: no file can hold the marker that ends its own block. */
  readonly code: string;
}

/** A path may hold a line end, and then words that look like ours. */
const oneLine = (src: string): string => src.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, "?");

const block = (title: string, body: string, code: string): string =>
  `--- context ${code}: ${title} ---\n${body}\n--- end of context ${code} ---`;

/** Role, then context as data, then the message as it was written. */
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
