import type { Caller, Prompt, PromptArgument, Resource, ResourceTemplate } from "../tools/contract.ts";
import type { Call } from "./call.ts";
import type { Documents } from "./documents.ts";
import type { PublishedTool } from "./publish.ts";
import type { ListKind } from "./refresh.ts";

/** What clients see of prompts, resources and templates: everything but their functions. */
export type PublishedPrompt = Omit<Prompt, "get" | "arguments"> & {
  readonly arguments?: readonly Omit<PromptArgument, "complete">[];
};
export type PublishedResource = Omit<Resource, "read">;
export type PublishedTemplate = Omit<ResourceTemplate, "read" | "complete">;

/** Labels of callers that name none. */
export interface CallerDefaults {
  readonly defaultAgentId: string;
  readonly defaultModel: string;
  readonly defaultBudgetProfile: string;
}

/**
 * The part of the core that the MCP door uses. The core itself provides it, and so does `link/remote-core.ts` in a front
 * that runs as a process of its own: what needs the core is asynchronous, the rest is known to both.
 */
export interface DoorCore extends Documents {
  readonly call: Call;
  /** The tools of the mode in force; for a caller, without those that policy can never allow them. */
  listTools(caller?: Caller): readonly PublishedTool[] | Promise<readonly PublishedTool[]>;
  prompts(): readonly PublishedPrompt[];
  /** Those that everybody sees, and the handles of the caller. */
  resources(caller: Caller): Promise<readonly PublishedResource[]>;
  templates(): readonly PublishedTemplate[];
  /** They name what the list of this caller shows. */
  instructions(caller?: Caller): string;
  settings(): CallerDefaults;
  /** Structured content goes out beside the text in classic mode only (REQ-D13). */
  sendsStructured(): boolean;
  onListChanged(listener: (kind: ListKind) => void): () => void;
  /** Calls back with the URI of a resource whose content changed. */
  onResourceUpdated(listener: (uri: string) => void): () => void;
}

/** Without its functions, as it would be after a round through JSON. */
export const withoutFunctions = <T extends object>(published: T): T =>
  Object.fromEntries(Object.entries(published).filter(([, value]) => typeof value !== "function")) as T;

export const publishPrompt = ({ arguments: args, ...prompt }: PublishedPrompt): PublishedPrompt => ({
  ...withoutFunctions(prompt),
  ...(args === undefined ? {} : { arguments: args.map(withoutFunctions) }),
});
