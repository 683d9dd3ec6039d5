import { plural } from "../base/text.ts";
import { bold, type Io } from "./io.ts";

interface IndexProgress {
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
const createProgressBar = (io: Pick<Io, "redraw" | "canRedraw">, now: () => number) => {
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

interface Report {
  readonly files: number;
  readonly chunks: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly readBytes: number;
  readonly tookMs: number;
}

interface Indexer {
  index(
    request: { readonly force?: boolean },
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<Report>;
}

const summarize = ({ files, chunks, added, changed, removed, readBytes, tookMs }: Report): string => {
  const changes = [
    ...(added > 0 ? [`${added} added`] : []),
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
  ];
  const megabytes = (readBytes / 1_000_000).toFixed(1);
  return `${plural(files, "file")}, ${plural(chunks, "chunk")}: ${changes.length === 0 ? "nothing changed" : changes.join(", ")}; ${megabytes} MB read in ${(tookMs / 1000).toFixed(2)} s`;
};

interface IndexOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

/** Updates the index, with a progress bar on stderr where that is a terminal. */
export const withProgressBar = async (
  indexer: Indexer,
  io: Io,
  { force, signal, now }: IndexOptions,
): Promise<Report> => {
  const bar = createProgressBar(io, now);
  try {
    return await indexer.index({ force }, signal, bar.show);
  } finally {
    bar.clear();
  }
};

/** Updates the index and reports what changed. */
export const runIndex = async (
  indexer: Indexer,
  io: Io,
  options: IndexOptions & { readonly json: boolean },
): Promise<void> => {
  const report = await withProgressBar(indexer, io, options);
  io[options.json ? "data" : "out"](
    options.json ? `${JSON.stringify(report)}\n` : `${bold("index", io.hasColours)} ${summarize(report)}\n`,
  );
};
