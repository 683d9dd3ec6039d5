import { LlmcError } from "../base/error.ts";
import { type ProcessFigures, processFigures } from "../host/os/process-figures.ts";
import type { ChildExit } from "./child.ts";
import type { FrontChild, HowEnded } from "./front-process.ts";
import type { Fronts } from "./fronts.ts";

export type FrontSize = Pick<ProcessFigures, "residentBytes" | "descriptors">;

interface FrontWatchParts {
  readonly fronts: () => Pick<Fronts, "pid" | "replace">;
  /** The size at which another front takes the place of one, before it meets its limits. */
  readonly maxSize: () => FrontSize;
  readonly log: (text: string) => void;
  /** No front can run here. */
  readonly onNeverWell: (error: LlmcError) => void;
  /** For tests. */
  readonly measure?: (pid: number) => FrontSize | undefined;
  readonly checkMs?: number;
}

const GROWTH_CHECK_MS = 10_000;
/** Replacing a front that has grown by less than this since it became healthy gains nothing. */
const MIN_GROWTH: FrontSize = { residentBytes: 32 * 1024 * 1024, descriptors: 64 };
/** So many fronts may end by themselves before any was healthy; after that, none can run here. */
const MAX_NEVER_WELL = 3;

export const describeExit = ({ code, signal }: ChildExit): string =>
  signal === null ? `exit code ${code}` : String(signal);

const neverWellError = (exit: ChildExit): LlmcError =>
  new LlmcError("unavailable", `The process that parses input cannot run here (${describeExit(exit)}).`, {
    hint: "Its last words are above. mcp.subprocess = false runs everything in one process.",
  });

/** Replaces fronts that have grown, logs how each of them ended, and notices when none can run here. */
export const createFrontWatch = (parts: FrontWatchParts) => {
  const { fronts, maxSize, log, measure = processFigures } = parts;
  /** By process, how large a front was when it was well. */
  const firstSizes = new Map<number, FrontSize>();
  /** How many fronts ended by themselves before any was well; undefined since one was. */
  let neverWell: number | undefined = 0;

  const hasGrown = (pid: number): boolean => {
    const [now, first, max] = [measure(pid), firstSizes.get(pid), maxSize()];
    if (now === undefined || first === undefined) return false;
    const exceeds = (of: keyof FrontSize): boolean => now[of] > Math.max(max[of], first[of] + MIN_GROWTH[of]);
    return exceeds("residentBytes") || exceeds("descriptors");
  };
  const growth = setInterval(() => {
    const { pid } = fronts();
    if (pid !== undefined && hasGrown(pid)) void fronts().replace();
  }, parts.checkMs ?? GROWTH_CHECK_MS).unref();

  return {
    well: ({ pid = 0 }: FrontChild): void => {
      neverWell = undefined;
      const size = measure(pid);
      if (size !== undefined) firstSizes.set(pid, size);
    },
    ended: (exit: ChildExit, { child, isRetired, fits, wasActive }: HowEnded): void => {
      firstSizes.delete(child.pid ?? 0);
      if (neverWell !== undefined && exit.signal === null) neverWell++;
      if (neverWell === MAX_NEVER_WELL) parts.onNeverWell(neverWellError(exit));
      else if (isRetired) log("the front was replaced");
      else if (fits === false) log("a front was discarded: it and the core speak other versions of the link");
      else if (wasActive) log(`the front ended (${describeExit(exit)}) and is started again`);
      else log(`a new front ended (${describeExit(exit)}) before it took over`);
    },
    stop: (): void => clearInterval(growth),
  };
};
