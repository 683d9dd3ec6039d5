import { LlmcError } from "../base/error.ts";
import { plural } from "../base/text.ts";
import { confirmChange } from "./confirm-change.ts";
import { bold, type Io } from "./io.ts";
import type { KbCommand } from "./kb-actions.ts";
import {
  type Collection,
  type Forgotten,
  type Report,
  renderCollections,
  renderDrift,
  renderForgotten,
  renderReport,
  renderScores,
  type Scores,
} from "./kb-render.ts";
import { wholeNumber } from "./whole-number.ts";

interface Work {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: {
    readonly done: number;
    readonly total: number | undefined;
    readonly source: string;
    readonly failed: number;
  }) => void;
}

type VersionOptions = { readonly version?: string | undefined; readonly dryRun: boolean };

interface Measured {
  readonly scores: Scores;
  readonly active?: { readonly version: string; readonly scores: Scores } | undefined;
}

/** What the commands do; the wiring provides it. */
export interface KbOperator {
  list(): Promise<readonly Collection[]>;
  /** Where it is kept, in words. */
  create(name: string, product: string): Promise<{ readonly keptIn: string }>;
  add(name: string, sources: readonly string[], options: VersionOptions, work: Work): Promise<Report>;
  sync(name: string, options: VersionOptions, work: Work): Promise<Report>;
  forget(
    name: string,
    sources: readonly string[],
    options: { readonly version?: string | undefined },
  ): Promise<Forgotten>;
  promote(
    name: string,
    version: string | undefined,
    options: { readonly force: boolean; readonly signal: AbortSignal },
  ): Promise<{
    readonly version: string;
    readonly before: string | undefined;
    readonly evaluation: Measured | undefined;
    /** How agents ask it, in words. */
    readonly reachedBy: string;
  }>;
  rollback(name: string): Promise<string>;
  pin(name: string, version: string | undefined): Promise<void>;
  evaluate(
    name: string,
    options: {
      readonly version?: string | undefined;
      readonly questions?: string | undefined;
      readonly report?: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<Measured & { readonly version: string }>;
  exportTo(name: string, version: string | undefined, file: string, signal: AbortSignal): Promise<number>;
  importFrom(
    file: string,
    name: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly collection: string; readonly version: string; readonly documents: number }>;
  collect(
    name: string | undefined,
    keep: number,
  ): Promise<
    Readonly<Record<string, { readonly generations: readonly string[]; readonly documents: number }>>
  >;
  remove(name: string): Promise<void>;
}

const EVERY_MS = 50;
const DEFAULT_KEEP = 2;

/** The report was printed; the exit code tells scripts that not all sources are in. */
const checkRead = ({ collection, unread: [first, ...others] }: Report): void => {
  if (first === undefined) return;
  throw new LlmcError(first.code, `${plural(others.length + 1, "source")} could not be read.`, {
    hint: `What ${collection} had of it stays. llmc kb forget ${collection} SOURCE takes out what has gone for good.`,
  });
};

const BAR_CHARS = 20;

/** `[#####---------------] 25/100`, or how many were read where nobody knows of how many. */
export const progressBar = (done: number, total: number | undefined): string => {
  if (total === undefined || total === 0) return plural(done, "document");
  const filled = Math.min(BAR_CHARS, Math.floor((done / total) * BAR_CHARS));
  return `[${"#".repeat(filled)}${"-".repeat(BAR_CHARS - filled)}] ${done}/${total}`;
};

/** One line on stderr, drawn again and again. */
const progressLine = (io: Io, now: () => number): Work["onProgress"] => {
  let shownAt = Number.NEGATIVE_INFINITY;
  return ({ done, total, source, failed }) => {
    if (!io.canRedraw || (now() - shownAt < EVERY_MS && done !== total)) return;
    shownAt = now();
    io.redraw(`reading ${source}: ${progressBar(done, total)}${failed === 0 ? "" : `, ${failed} failed`}`);
  };
};

export interface KbRun {
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

type Answer = { readonly text: string; readonly data: unknown; readonly report?: Report };

const answerOf = async (
  command: Exclude<KbCommand, { readonly do: "search" | "ask" | "rm" }>,
  operator: KbOperator,
  work: Work,
): Promise<Answer> => {
  const { signal } = work;
  switch (command.do) {
    case "create": {
      const { keptIn } = await operator.create(command.name, command.product);
      return {
        text: `made ${command.name} in ${keptIn}\nnext: llmc kb add ${command.name} SOURCE…`,
        data: { name: command.name, keptIn },
      };
    }
    case "add": {
      const report = await operator.add(command.name, command.sources, command, work);
      return { text: renderReport(report), data: report, report };
    }
    case "sync": {
      const report = await operator.sync(command.name, command, work);
      return { text: renderReport(report), data: report, report };
    }
    case "forget": {
      const forgotten = await operator.forget(command.name, command.sources, command);
      return { text: renderForgotten(forgotten), data: forgotten };
    }
    case "promote": {
      const { version, before, evaluation, reachedBy } = await operator.promote(
        command.name,
        command.version,
        {
          force: command.force,
          signal,
        },
      );
      const scores =
        evaluation === undefined
          ? ""
          : `\n${renderScores(evaluation.scores)}${renderDrift(evaluation.scores, evaluation.active)}`;
      return {
        text: `${command.name} ${version} is active${before === undefined || before === version ? "" : ` instead of ${before}`}${scores}\n${reachedBy}`,
        data: { version, before: before ?? null, scores: evaluation?.scores ?? null },
      };
    }
    case "ls": {
      const collections = await operator.list();
      return { text: renderCollections(collections), data: collections };
    }
    case "eval": {
      const { version, scores, active } = await operator.evaluate(command.name, command, signal);
      return {
        text: `${command.name} ${version}, ${renderScores(scores)}${renderDrift(scores, active)}`,
        data: { version, scores, active: active ?? null },
      };
    }
    case "rollback": {
      const version = await operator.rollback(command.name);
      return { text: `${command.name} ${version} is active again`, data: { version } };
    }
    case "pin":
      await operator.pin(command.name, command.version);
      return {
        text:
          command.version === undefined
            ? `${command.name} is not pinned any more`
            : `${command.name} is pinned to ${command.version} in this workspace`,
        data: { pinned: command.version ?? null },
      };
    case "export": {
      const bytes = await operator.exportTo(command.name, command.version, command.file, signal);
      return { text: `wrote ${command.file}, ${bytes} bytes`, data: { file: command.file, bytes } };
    }
    case "import": {
      const made = await operator.importFrom(command.file, command.name, signal);
      return {
        text: `${made.collection} ${made.version}: ${plural(made.documents, "document")}; next: llmc kb promote ${made.collection} ${made.version}`,
        data: made,
      };
    }
    case "gc": {
      const keep =
        command.keep === undefined ? DEFAULT_KEEP : wholeNumber("--keep", command.keep, { min: 0 });
      const removed = await operator.collect(command.name, keep);
      const lines = Object.entries(removed).map(
        ([name, { generations, documents }]) =>
          `${name}: removed ${generations.length === 0 ? "nothing" : generations.join(", ")}, ${plural(documents, "document")}`,
      );
      return { text: lines.join("\n") || "no knowledge bases", data: removed };
    }
  }
};

/** Runs a command of the operator and prints what came of it. */
export const runKb = async (
  command: Exclude<KbCommand, { readonly do: "search" | "ask" }>,
  operator: KbOperator,
  io: Io,
  { json, signal, now }: KbRun,
): Promise<void> => {
  if (command.do === "rm") {
    const question = `Remove ${command.name} with all its versions?`;
    const hint = "Add --yes to remove it without being asked.";
    if (!(await confirmChange(io, command.yes, { question, done: "removed", hint }))) return;
    await operator.remove(command.name);
    io.out(`removed ${command.name}\n`);
    return;
  }
  const onProgress = progressLine(io, now);
  try {
    const { text, data, report } = await answerOf(command, operator, { signal, onProgress });
    if (io.canRedraw) io.redraw("");
    if (json) io.data(`${JSON.stringify(data)}\n`);
    // The lines of a list begin alike.
    else io.out(command.do === "ls" ? `${text}\n` : `${bold("kb", io.hasColours)} ${text}\n`);
    if (report !== undefined) checkRead(report);
  } catch (thrown) {
    if (io.canRedraw) io.redraw("");
    throw thrown;
  }
};
