import { z } from "zod";
import { LIMIT_NOTES, type ReachedLimit } from "../base/limit-notes.ts";
import { showControls } from "../base/text.ts";
import type { EnvelopeResult } from "../envelope/port.ts";

/** What tools that run a command return about the run. */
export const commandMeta = z.object({
  /** The sandbox tier of the command: bubblewrap, landlock or plain; null if nothing was started. */
  tier: z.string().nullable(),
  /** enriched (a summary), passthrough or raw. */
  mode: z.string(),
  duration_ms: z.number(),
  timed_out: z.boolean(),
  truncated: z.boolean(),
  /** How many matches, entries, commits or failing tests there are in all. */
  total_matches: z.int().optional(),
  handle: z.string().nullable(),
  tokens_estimate: z.int(),
  budget_remaining: z.int().nullable(),
  /** Files that commands must not make; they were renamed. */
  set_aside: z.array(z.string()).optional(),
  /** Paths that could not be renamed, or not be checked for such files, and why. */
  unresolved: z.array(z.string()).optional(),
  /** Where the line had several programs: each with its own exit code. */
  programs: z.array(z.object({ name: z.string(), exit_code: z.int() })).optional(),
  /** The limit that the command ran into. */
  limit: z.enum(["memory", "processes"]).optional(),
  /** How to read on, or what gives a command more time. */
  hint: z.string().optional(),
});

const hintOf = (handle: string | null, ...notes: readonly (string | undefined)[]): string | undefined => {
  const readOn =
    handle === null
      ? []
      : [
          `Use read_file with path handle:${handle} (offset, limit), or 'te --handle ${handle}', for full results`,
        ];
  const parts = [...notes.filter((note) => note !== undefined), ...readOn];
  return parts.length === 0 ? undefined : `${parts.join(". ")}.`;
};

export const metaOf = ({
  document,
  tier,
  durationMs,
  timedOut,
  quarantined: { renamed, unresolved },
  limit,
  programs,
  output,
  deadlineNote,
  failureNote,
}: EnvelopeResult) => {
  const { match_count, truncated, handle, tokens_estimate } = document.enrichment;
  const hint = hintOf(handle, deadlineNote, failureNote);
  return {
    tier,
    mode: document.mode,
    duration_ms: Math.round(durationMs),
    timed_out: timedOut,
    truncated: truncated || output.truncated,
    ...(match_count === null ? {} : { total_matches: match_count }),
    handle,
    tokens_estimate,
    budget_remaining: document.telemetry.budget_remaining,
    ...(renamed.length === 0 ? {} : { set_aside: [...renamed] }),
    ...(unresolved.length === 0 ? {} : { unresolved: [...unresolved] }),
    ...(programs.length < 2
      ? {}
      : { programs: programs.map(({ name, exitCode }) => ({ name, exit_code: exitCode })) }),
    ...(limit === undefined ? {} : { limit }),
    ...(hint === undefined ? {} : { hint }),
  };
};

/** What the model reads of a command, where it is not what programs get. */
export interface ShownToModel {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly keepsAll: boolean;
  readonly limit: ReachedLimit | undefined;
  readonly deadlineNote: string | undefined;
  readonly failureNote: string | undefined;
}

export const shownOf = ({
  document,
  keepsAll,
  limit,
  deadlineNote,
  failureNote,
}: EnvelopeResult): ShownToModel => ({
  stdout: document.stdout,
  stderr: document.stderr,
  truncated: document.enrichment.truncated,
  keepsAll,
  limit,
  deadlineNote,
  failureNote,
});

/** Below this number of tokens, the answer states the remaining budget. */
const LOW_BUDGET_TOKENS = 20_000;

/** What a model reads of a command: its output, and facts that the output does not show. */
export const renderCommand = (
  data: { readonly stdout: string; readonly stderr: string; readonly exit_code: number },
  meta: Pick<
    z.output<typeof commandMeta>,
    "timed_out" | "handle" | "set_aside" | "unresolved" | "budget_remaining"
  > &
    Omit<ShownToModel, "stdout" | "stderr">,
): string => {
  const left = meta.budget_remaining;
  const notes = [
    ...(meta.timed_out
      ? [meta.deadlineNote ?? "stopped at its deadline"]
      : data.exit_code === 0
        ? []
        : [`exit ${data.exit_code}`]),
    ...(meta.timed_out || meta.deadlineNote === undefined ? [] : [meta.deadlineNote]),
    ...(meta.truncated
      ? [`${meta.keepsAll ? "in short" : "cut"}${meta.handle === null ? "" : `; all: handle:${meta.handle}`}`]
      : []),
    ...(meta.failureNote === undefined ? [] : [meta.failureNote]),
    ...(meta.limit === undefined ? [] : [LIMIT_NOTES[meta.limit]]),
    ...(meta.set_aside === undefined
      ? []
      : [
          showControls(
            `renamed, because commands do not create what git, editors, shells or CI obey (file tools may write start-up files; if the user made one meanwhile, mv brings it back): ${meta.set_aside.join(", ")}`,
          ),
        ]),
    ...(meta.unresolved === undefined
      ? []
      : [
          showControls(
            `tell the user, because git, editors, shells or CI might obey what the command left there: ${meta.unresolved.join(", ")}`,
          ),
        ]),
    ...(left !== null && left < LOW_BUDGET_TOKENS ? [`${left} tokens left in this session`] : []),
  ];
  const parts = [
    showControls(data.stdout.trimEnd()),
    ...(data.stderr.trim() === "" ? [] : [`[stderr]\n${showControls(data.stderr.trimEnd())}`]),
    ...(notes.length === 0 ? [] : [`[${notes.join("; ")}]`]),
  ];
  return parts.filter((part) => part !== "").join("\n") || "[no output]";
};
