import { toLlmcError } from "../base/error.ts";
import { baseName } from "../base/paths.ts";
import { Suspended } from "../base/suspended.ts";
import { exitStatus } from "../host/run/contract.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { Usage, UsageRecord } from "../host/state/usage/usage.ts";
import { allow } from "./allowance.ts";
import { firstAnswerTokens } from "./asked-lines.ts";
import { commandText } from "./command-label.ts";
import { configNote } from "./config-note.ts";
import type { Session } from "./contract.ts";
import { deadlineNote } from "./deadline-note.ts";
import { fileSizeNote } from "./file-size-note.ts";
import type { Launch, Launched } from "./launch.ts";
import { networkNote } from "./network-note.ts";
import { createOutput, type Output } from "./output.ts";
import { packagesNote } from "./packages-note.ts";
import type { Envelope, EnvelopeCall, EnvelopeResult } from "./port.ts";
import { type ClosedAt, readOnlyNote } from "./read-only-note.ts";
import { type RealOutput, realOutput } from "./real-output.ts";
import { budgetOf, type EnvelopeSettings } from "./settings.ts";
import { PLAIN_TOKENS, plainPage, type Shown, summarize } from "./shown.ts";
import { figuresOf, recordOf } from "./telemetry.ts";
import { unseenNote } from "./unseen-note.ts";

export interface EnvelopeParts {
  readonly launch: Launch;
  /** Undefined if nothing can be kept, as outside of a workspace. */
  readonly handles: Pick<Handles, "put"> | undefined;
  readonly usage: Pick<Usage, "reserve" | "record" | "release"> | undefined;
  readonly settings: () => EnvelopeSettings;
  /** A part of the envelope failed, and the command continued without it. */
  readonly onFailure: (what: string, error: unknown) => void;
  readonly onDone?: ((mode: string, latencyMs: number) => void) | undefined;
  /** Paths below it are shown from there. */
  readonly root?: string | undefined;
  /** The folder of packages above the workspace, if there is one. */
  readonly packagesAbove?: (() => string | undefined) | undefined;
  /** What keeps commands from changing a path. */
  readonly closedAt?: ClosedAt | undefined;
}

/** Size of an answer while the envelope is switched off and nothing is summarized. */
const UNSUMMARIZED_TOKENS = 5000;

interface ShownOutput {
  readonly shown: Shown;
  readonly real: RealOutput;
  readonly handle: string | null;
}

interface Finished extends ShownOutput {
  readonly call: EnvelopeCall;
  readonly session: Session;
  readonly launched: Launched;
  readonly exitCode: number;
  readonly latencyMs: number;
  readonly shownTokens: number;
  /** Tokens of the budget before this command; undefined without a budget. */
  readonly left: number | undefined;
  readonly deadlineNote: string | undefined;
  readonly failureNote: string | undefined;
}

/** What the output alone does not tell about this command here. */
const explain = (
  launched: Launched,
  output: Output,
  command: EnvelopeCall["command"],
  { settings, packagesAbove, closedAt }: Pick<EnvelopeParts, "settings" | "packagesAbove" | "closedAt">,
): string | undefined => {
  const { hasNetwork } = settings();
  const failure =
    fileSizeNote(launched, output) ??
    unseenNote(launched, output) ??
    packagesNote(launched, output, packagesAbove) ??
    configNote(launched, output) ??
    readOnlyNote(launched, output, closedAt) ??
    (hasNetwork ? undefined : networkNote(launched, output, commandText(command)));
  const notes = [...(launched.notes ?? []), ...(failure === undefined ? [] : [failure])];
  return notes.length === 0 ? undefined : notes.join("; ");
};

const resultOf = (finished: Finished): EnvelopeResult => {
  const { call, session, launched, shown, real, handle, exitCode, latencyMs, shownTokens, left } = finished;
  return {
    document: {
      success: exitCode === 0,
      mode: shown.mode,
      command: commandText(call.command),
      stdout: shown.stdout,
      stderr: shown.stderr,
      exit_code: exitCode,
      enrichment: {
        match_count: shown.matchCount,
        truncated: shown.truncated,
        handle,
        tokens_estimate: shownTokens,
      },
      telemetry: {
        latency_ms: Math.round(latencyMs * 10) / 10,
        agent_id: session.agentId,
        budget_remaining: left === undefined ? null : Math.max(0, left - shownTokens),
      },
    },
    output: real,
    keepsAll: shown.keepsAll,
    tests: shown.tests,
    tier: launched.tier,
    durationMs: latencyMs,
    timedOut: launched.timedOut,
    deadlineNote: finished.deadlineNote,
    failureNote: finished.failureNote,
    quarantined: launched.quarantined,
    limit: launched.limit,
    programs: launched.programs,
  };
};

/** Runs work of the envelope itself. If it fails, the command's answer does not, unless the operator wants the error. */
const tolerate = async <T>(
  parts: EnvelopeParts,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!parts.settings().passthroughOnFailure) throw error;
    parts.onFailure(what, error);
    return undefined;
  }
};

const allowanceOf = (parts: EnvelopeParts, session: Session, { command }: EnvelopeCall) => {
  const settings = parts.settings();
  const { enabled } = settings;
  const firstPageTokens = firstAnswerTokens(command, settings.firstPageTokens);
  const sessionTokenBudget = budgetOf(settings, session.budgetProfile);
  const usualTokens = enabled ? firstPageTokens : UNSUMMARIZED_TOKENS;
  return allow(session, {
    usage: enabled ? parts.usage : undefined,
    budgetTokens: sessionTokenBudget,
    usualTokens,
    tolerate: (work) => tolerate(parts, "budget", work),
  });
};

/** The page that is shown and a handle to the whole output; if nothing can be kept, as much as one answer holds. */
const showOutput = async (
  parts: EnvelopeParts,
  launched: Launched,
  output: Output,
  raw: boolean,
  maxTokens: number,
  session: Session,
): Promise<ShownOutput> => {
  const plain = raw ? "raw" : "passthrough";
  const isPlain = raw || !parts.settings().enabled;
  const { sole } = launched;
  const summary =
    isPlain || sole === undefined
      ? undefined
      : await tolerate(parts, "summary", async () => {
          const [program, ...args] = sole;
          const ran = {
            argv: [baseName(program), ...args] as const,
            exitCode: exitStatus(launched),
            root: parts.root,
          };
          return summarize(ran, output, launched.timedOut, maxTokens);
        });
  const shown = summary ?? plainPage(output, maxTokens, plain);
  const real = realOutput(output, shown);
  if (!shown.truncated && !real.truncated) return { shown, real, handle: null };
  const { handles } = parts;
  const handle =
    handles && (await tolerate(parts, "handle", () => handles.put(session, "output", "", output.lines())));
  if (handle !== undefined) return { shown, real, handle };
  return { shown: plainPage(output, Math.max(maxTokens, PLAIN_TOKENS), plain), real, handle: null };
};

const record = async (
  parts: EnvelopeParts,
  row: UsageRecord,
  reserved: number | undefined,
): Promise<void> => {
  const { usage } = parts;
  parts.onDone?.(row.mode, row.latencyMs);
  if (usage === undefined || !parts.settings().enabled) return;
  await tolerate(parts, "telemetry", () => usage.record(row, reserved));
};

const release = async (
  parts: EnvelopeParts,
  { owner }: Session,
  reserved: number | undefined,
): Promise<void> => {
  const { usage } = parts;
  if (usage === undefined || reserved === undefined) return;
  await tolerate(parts, "budget", () => usage.release(owner, reserved));
};

const run = async (
  parts: EnvelopeParts,
  call: EnvelopeCall,
  session: Session,
  signal?: AbortSignal,
): Promise<EnvelopeResult> => {
  const startedAt = performance.now();
  const settings = parts.settings();
  const raw = call.raw ?? false;
  const allowance = await allowanceOf(parts, session, call);
  const output = createOutput(settings.maxHandleBytes);
  const base = recordOf(call.command, session, settings);
  try {
    const timeoutSeconds = call.timeoutSeconds ?? (settings.enabled ? settings.timeoutSeconds : undefined);
    const launched = await parts.launch(
      {
        command: call.command,
        cwd: call.cwd,
        timeoutSeconds,
        session,
        executable: call.executable,
        onOutput: output.onOutput,
      },
      signal,
    );
    const { shown, real, handle } = await showOutput(
      parts,
      launched,
      output,
      raw,
      allowance.pageTokens,
      session,
    );
    const figures = figuresOf(shown, output, settings);
    const latencyMs = performance.now() - startedAt;
    const exitCode = exitStatus(launched);
    const { shownTokens } = figures;
    const { left, reserved } = allowance;
    await record(parts, { ...base, ...figures, exitCode, latencyMs }, reserved);
    return resultOf({
      call,
      session,
      launched,
      shown,
      real,
      handle,
      exitCode,
      latencyMs,
      shownTokens,
      left,
      deadlineNote: deadlineNote(launched.timedOut, call.timeoutSeconds, settings),
      failureNote: explain(launched, output, call.command, parts),
    });
  } catch (error) {
    if (error instanceof Suspended) {
      // It is run, and recorded, once its user has answered.
      await release(parts, session, allowance.reserved).catch(() => {});
      throw error;
    }
    const latencyMs = performance.now() - startedAt;
    const failed = { ...base, mode: raw ? "raw" : "passthrough", errorCode: toLlmcError(error).code };
    // A failure to record must not hide the original failure.
    await record(parts, { ...failed, latencyMs }, allowance.reserved).catch(() => {});
    throw error;
  } finally {
    output.close();
  }
};

export const createEnvelope = (parts: EnvelopeParts): Envelope => ({
  run: (call, session, signal) => run(parts, call, session, signal),
});
