import { type ChildProcess, spawn } from "node:child_process";
import { extname, join } from "node:path";
import { compileCacheFolder } from "../../os/compile-cache.ts";
import { identify } from "./process-scan.ts";
import type { ProcessTree } from "./process-tree.ts";

/** Beside this file, and built like it. */
const PROGRAM = join(import.meta.dirname, `orphan-guard-main${extname(import.meta.filename)}`);

/** It takes some 40 MB and as many milliseconds to start: it waits a while for the next command. */
const IDLE_MS = 30_000;

/** Before one that was killed is replaced: what kills it may do so again. */
const REPLACE_MS = 500;

/** One line to the guard. */
export interface GuardOrder {
  readonly pid: number;
  readonly startedAt: string;
  /** If omitted, the tree has ended and is removed from the list. */
  readonly mark?: ProcessTree["mark"];
}

/**
 * Ends processes whose server was killed. Bubblewrap's end with it; in the other tiers nothing of the kernel's
 * reaches a whole tree, so a small program of ours waits for our end and then looks for their marks.
 */
export const createOrphanGuard = () => {
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  const watched = new Map<ProcessTree, GuardOrder>();

  const open = (): ChildProcess => {
    const compiled = compileCacheFolder();
    const made = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM], {
      cwd: "/",
      env: compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled },
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    // Without it everything still works, except after a kill of the server.
    made.once("error", () => {});
    made.once("exit", () => replace(made));
    made.stdin?.on("error", () => {});
    made.unref();
    (made.stdin as unknown as { unref?(): void } | null)?.unref?.();
    return made;
  };

  const send = (order: GuardOrder): void => {
    child?.stdin?.write(`${JSON.stringify(order)}\n`);
  };

  const start = (): void => {
    child = open();
    for (const order of watched.values()) send(order);
  };

  /** Somebody has killed it: the machine, for memory, or a command without a sandbox. */
  const replace = (ended: ChildProcess): void => {
    if (child !== ended) return;
    child = undefined;
    setTimeout(() => {
      if (child === undefined && watched.size > 0) start();
    }, REPLACE_MS).unref();
  };

  const close = (): void => {
    clearTimeout(idle);
    if (watched.size > 0) return;
    child?.stdin?.end();
    child = undefined;
  };

  return {
    watch: (tree: ProcessTree): void => {
      const key = tree.hasNamespace ? undefined : identify(tree.child.pid ?? 0);
      if (key === undefined) return;
      const order = { ...key, mark: tree.mark };
      watched.set(tree, order);
      if (child === undefined) start();
      else send(order);
    },
    forget: (tree: ProcessTree): void => {
      const order = watched.get(tree);
      if (order === undefined) return;
      watched.delete(tree);
      send({ pid: order.pid, startedAt: order.startedAt });
      clearTimeout(idle);
      if (watched.size === 0) idle = setTimeout(close, IDLE_MS).unref();
    },
    close,
  };
};
