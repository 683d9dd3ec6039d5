import { setTimeout } from "node:timers/promises";
import type { ServerProcess, ToolArguments } from "./server-process.ts";

/** Short against any search, long enough to leave the processor to the search. */
const POLL_MS = 2;

export const PAGE = 100;

export const sessionOf = (text: string): string => /session: (\S+)/.exec(text)?.[1] ?? "";

export const isComplete = (text: string): boolean => text.includes("Status: COMPLETED");

/** Results on a page: each begins with a picture of a sheet or a folder. */
export const resultsOn = (text: string): number => text.match(/^(?:📄|📁)/gmu)?.length ?? 0;

/**
 * Desktop Commander answers a search before it has ended, and is asked again until there is enough. Resolves to the
 * milliseconds until then.
 */
export const searchCommander = async (
  server: ServerProcess,
  args: ToolArguments,
  isEnough: (text: string) => boolean,
): Promise<number> => {
  const startedAt = performance.now();
  const { text: first } = await server.ask("start_search", args);
  for (let text = first; !isEnough(text); ) {
    if (text !== first) await setTimeout(POLL_MS);
    const session = sessionOf(first);
    text = (await server.ask("get_more_search_results", { sessionId: session, offset: 0, length: PAGE }))
      .text;
    if (isComplete(text) && !isEnough(text)) throw new Error(`Desktop Commander did not find it: ${text}`);
  }
  return performance.now() - startedAt;
};
