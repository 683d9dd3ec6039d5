import { setTimeout } from "node:timers/promises";
import type { ServerProcess, ToolArguments } from "./server-process.ts";
import { median } from "./stats.ts";

/** After each answer it writes its state to disk, and a call that comes meanwhile waits: agents are slower than that. */
export const COMMANDER_REST_MS = 30;

/** Each question takes time from its search, so it is asked at the interval that suits it best. */
const INTERVALS_MS = [5, 10, 25, 50, 100, 200];
const TRIES = 3;

export const PAGE = 100;

export const sessionOf = (text: string): string => /session: (\S+)/.exec(text)?.[1] ?? "";

export const isComplete = (text: string): boolean => text.includes("Status: COMPLETED");

/** Results on a page: each begins with a picture of a sheet or a folder. */
export const resultsOn = (text: string): number => text.match(/^(?:📄|📁)/gmu)?.length ?? 0;

interface CommanderSearch {
  readonly args: ToolArguments;
  /** Whether what a page shows is what was wanted. */
  readonly isEnough: (text: string) => boolean;
}

/** It answers before its search has ended, and is asked again until there is enough. Resolves to milliseconds. */
const searchOnce = async (
  server: ServerProcess,
  { args, isEnough }: CommanderSearch,
  intervalMs: number,
): Promise<number> => {
  const startedAt = performance.now();
  const { text: first } = await server.ask("start_search", args);
  const sessionId = sessionOf(first);
  const page = { sessionId, offset: 0, length: PAGE };
  let text = first;
  while (!isEnough(text)) {
    if (!isComplete(text)) await setTimeout(intervalMs);
    else if (text !== first) throw new Error(`Desktop Commander did not find it: ${text}`);
    text = (await server.ask("get_more_search_results", page)).text;
  }
  const ms = performance.now() - startedAt;
  // What still runs would run into the next lane's turn.
  if (!isComplete(text)) await server.ask("stop_search", { sessionId });
  return ms;
};

/** A lane that searches with Desktop Commander; how often it is asked is found out at its first turn. */
export const searchCommander = (server: ServerProcess, search: CommanderSearch): (() => Promise<number>) => {
  let best: number | undefined;
  const calibrate = async (): Promise<number> => {
    const tried: { readonly intervalMs: number; readonly ms: number }[] = [];
    for (const intervalMs of INTERVALS_MS) {
      const times: number[] = [];
      for (let i = 0; i < TRIES; i++) {
        times.push(await searchOnce(server, search, intervalMs));
        await setTimeout(COMMANDER_REST_MS);
      }
      tried.push({ intervalMs, ms: median(times) });
    }
    return tried.toSorted((a, b) => a.ms - b.ms)[0]?.intervalMs ?? 0;
  };
  return async () => {
    best ??= await calibrate();
    return searchOnce(server, search, best);
  };
};
