import { LlmcError } from "../../base/error.ts";
import { createOrphanGuard } from "./tree/orphan-guard.ts";
import type { ProcessTree } from "./tree/process-tree.ts";

/** Between SIGTERM and SIGKILL, when the server ends. */
const GRACE_MS = 300;
/** For the check of what ended commands left. Below the 10 s after which `docker stop` kills. */
const MAX_END_MS = 8000;

interface LiveTree {
  readonly tree: ProcessTree;
  /** Whether somebody's call waits for its end. */
  readonly isAwaited: boolean;
  /** Resolves when the tree is gone and what it left was checked. */
  readonly finished: Promise<void>;
}

/** The process trees of commands, from their start until what they left was checked. */
export interface LiveTrees {
  /** To be called immediately before a tree is started: throws once the server is ending. */
  refuseWhenEnding(): void;
  /** Returns the function that reports that the tree is finished. */
  add(tree: ProcessTree, isAwaited: boolean): () => void;
  /** Trees of commands that somebody's call waits for. */
  awaited(): readonly ProcessTree[];
  /** Ends every tree and waits for its check; nothing starts afterwards. */
  end(): Promise<void>;
}

export const createLiveTrees = (): LiveTrees => {
  const live = new Set<LiveTree>();
  const guard = createOrphanGuard();
  let isEnding = false;
  return {
    refuseWhenEnding: () => {
      if (isEnding) throw new LlmcError("unavailable", "The server is ending.");
    },
    add: (tree, isAwaited) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const one = { tree, isAwaited, finished: promise };
      live.add(one);
      guard.watch(tree);
      return () => {
        live.delete(one);
        guard.forget(tree);
        resolve();
      };
    },
    awaited: () => [...live].flatMap(({ tree, isAwaited }) => (isAwaited ? [tree] : [])),
    end: async () => {
      isEnding = true;
      const finished = [...live].map((one) => {
        void one.tree.end(GRACE_MS);
        return one.finished;
      });
      const late = Promise.withResolvers<void>();
      // Not unref'd: a process whose last handle closes would end before the check.
      const timer = setTimeout(late.resolve, MAX_END_MS);
      await Promise.race([Promise.all(finished), late.promise]);
      clearTimeout(timer);
      guard.close();
    },
  };
};
