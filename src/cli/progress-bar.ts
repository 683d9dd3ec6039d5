import type { Io } from "./io.ts";

export interface IndexProgress {
  readonly phase: "wait" | "list" | "index" | "embed";
  readonly done: number;
  readonly total: number;
}

const WIDTH = 30;
/** Writing to the terminal for every file would be slower than the indexing. */
const EVERY_MS = 50;

const PHASES: Readonly<Record<IndexProgress["phase"], string>> = {
  wait: "waiting for another process",
  list: "listing files",
  index: "indexing",
  embed: "creating vectors",
};

const render = ({ phase, done, total }: IndexProgress): string => {
  if (total === 0) return PHASES[phase];
  const filled = Math.min(WIDTH, Math.round((WIDTH * done) / total));
  return `${PHASES[phase]} ${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${total}`;
};

/** One line on stderr that is drawn again and again; nothing where stderr is no terminal. */
export const createProgressBar = (io: Pick<Io, "redraw" | "canRedraw">, now: () => number) => {
  let shownAt = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    show: (progress: IndexProgress): void => {
      if (!io.canRedraw || now() - shownAt < EVERY_MS) return;
      shownAt = now();
      isShown = true;
      io.redraw(render(progress));
    },
    clear: (): void => {
      if (isShown) io.redraw("");
      isShown = false;
    },
  };
};
