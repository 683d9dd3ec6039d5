import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

// A token that is taken out ends within a second: this, and two reads of the file 50 ms apart.
const INTERVAL_MS = 250;

/** Of the file behind all links; a change of its content changes its times. */
const identityOf = (stats: BigIntStats | undefined): string =>
  stats === undefined ? "" : [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");

const identityNow = async (path: string): Promise<string> =>
  identityOf(await stat(path, { bigint: true }).catch(() => undefined));

const identityAtOnce = (path: string): string => {
  try {
    return identityOf(statSync(path, { bigint: true }));
  } catch {
    return "";
  }
};

/**
 * Calls back soon after one of the files was changed, replaced, removed or made, and where another one is found; returns
 * the stop function. It never keeps the process alive.
 *
 * The files are polled, because listening to a folder means listening to everything in it: who may write there could
 * keep the thread busy with events of other names, and would not have to touch the file. Nor does a folder tell of a
 * file that a link in it leads to.
 */
export const watchFiles = (find: () => readonly string[], changed: () => void): (() => void) => {
  const first = find();
  let before = JSON.stringify([first, first.map(identityAtOnce)]);
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    timer = setTimeout(check, INTERVAL_MS).unref();
  };
  const check = async (): Promise<void> => {
    const paths = find();
    const now = JSON.stringify([paths, await Promise.all(paths.map(identityNow))]);
    if (isOver) return;
    wait();
    if (now === before) return;
    before = now;
    changed();
  };
  wait();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
