import type { CallerDefaults, PublishedPrompt, PublishedTemplate } from "../core/door-core.ts";
import type { PublishedTool } from "../core/publish.ts";

/**
 * What the front knows without asking: everything that a client can list and that changes only with the configuration. The
 * core sends it when it starts and whenever it changes; a copy in the user's state folder answers the next start.
 */
export interface Snapshot {
  /** Undefined if policy may show another list to each caller, so that the core has to be asked. */
  readonly tools: readonly PublishedTool[] | undefined;
  readonly prompts: readonly PublishedPrompt[];
  readonly templates: readonly PublishedTemplate[];
  readonly instructions: string;
  readonly defaults: CallerDefaults;
  readonly sendsStructured: boolean;
  readonly maxFrameBytes: number;
}
