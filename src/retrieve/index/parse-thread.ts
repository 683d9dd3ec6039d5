import type { EmbedderFiles } from "../../host/os/assets.ts";
import { serveThread } from "../../host/threads/serve-thread.ts";
import { createLooker, type Look, type Wanted } from "./look.ts";
import type { IndexSettings } from "./settings.ts";

/** What a parse thread is told at its start. */
export interface ParseThreadData {
  readonly workspace: string;
  readonly embedderFiles: EmbedderFiles;
}

export type ParseThreadMethods = {
  readonly look: {
    readonly takes: { readonly wanted: readonly Wanted[]; readonly settings: IndexSettings };
    readonly gives: readonly Look[];
    readonly tells: never;
  };
  readonly lookPlainly: {
    readonly takes: { readonly path: string; readonly reason: string; readonly settings: IndexSettings };
    readonly gives: Look;
    readonly tells: never;
  };
};

serveThread<ParseThreadMethods>(({ workspace, embedderFiles }: ParseThreadData) => {
  const looker = createLooker(workspace, embedderFiles);
  return {
    handlers: {
      look: async ({ wanted, settings }, { signal }) => {
        const looks: Look[] = [];
        for (const one of wanted) looks.push(await looker.look(one, settings, signal));
        return looks;
      },
      lookPlainly: ({ path, reason, settings }) => looker.lookPlainly(path, reason, settings),
    },
    close: async () => looker.close(),
  };
});
