import { bold, type Io } from "./io.ts";

interface Progress {
  readonly phase: "wait" | "list" | "index" | "embed";
  readonly done: number;
  readonly total: number;
}

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
    onProgress?: (progress: Progress) => void,
  ): Promise<Report>;
}

const WIDTH = 30;
/** Writing to the terminal for every file would be slower than the indexing. */
const EVERY_MS = 50;

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  wait: "waiting for another process",
  list: "listing files",
  index: "indexing",
  embed: "creating vectors",
};

const bar = ({ phase, done, total }: Progress): string => {
  if (total === 0) return PHASES[phase];
  const filled = Math.min(WIDTH, Math.round((WIDTH * done) / total));
  return `${PHASES[phase]} ${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${total}`;
};

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const summarize = ({ files, chunks, added, changed, removed, readBytes, tookMs }: Report): string => {
  const changes = [
    ...(added > 0 ? [`${added} added`] : []),
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
  ];
  const megabytes = (readBytes / 1_000_000).toFixed(1);
  return `${plural(files, "file")}, ${plural(chunks, "chunk")}: ${changes.length === 0 ? "nothing changed" : changes.join(", ")}; ${megabytes} MB read in ${(tookMs / 1000).toFixed(2)} s`;
};

/** Updates the index and shows a progress bar on a terminal. */
export const runIndex = async (
  indexer: Indexer,
  io: Io,
  options: {
    readonly force: boolean;
    readonly json: boolean;
    readonly signal: AbortSignal;
    readonly now: () => number;
  },
): Promise<void> => {
  let shownAt = Number.NEGATIVE_INFINITY;
  const showsBar = io.isTerminal && !options.json;
  const report = await indexer.index({ force: options.force }, options.signal, (progress) => {
    if (!showsBar || options.now() - shownAt < EVERY_MS) return;
    shownAt = options.now();
    io.err(`\r\u001b[K${bar(progress)}`);
  });
  if (showsBar) io.err("\r\u001b[K");
  io.out(
    options.json ? `${JSON.stringify(report)}\n` : `${bold("index", io.isTerminal)} ${summarize(report)}\n`,
  );
};
