import type { Cache } from "../base/caches.ts";
import type { Loaded } from "../config/load.ts";
import type { Core } from "../core/core.ts";
import type { Policy } from "../core/escalate.ts";
import { watchPolicyFiles } from "../host/own-files/policy-files.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";
import type { Log } from "../observe/log.ts";
import { decideByDefault } from "../policy/cedar/default-decision.ts";
import { DEFAULT_PROMPTS } from "../policy/cedar/default-policies.ts";
import type { CompiledPolicies } from "../policy/cedar/engine.ts";
import type { PolicyAction, PolicyDecision, PolicyRequest } from "../policy/cedar/model.ts";
import type { PolicyFile } from "../policy/cedar/policy-file.ts";
import {
  describeProblem,
  type PolicyProblem,
  positionForCallers,
  showFile,
} from "../policy/cedar/positions.ts";
import { createPolicyReader } from "./checked-policies.ts";
import { type PolicyFolders, policySources, readPolicyTexts } from "./policy-texts.ts";

interface StoreParts extends PolicyFolders {
  readonly loaded: () => Loaded;
  readonly log: Log;
  readonly decisions: Cache<PolicyDecision>;
  readonly writers: LiveWriters;
}

/** What is in force: the defaults alone, an operator's policies with them, or nothing at all. */
type InForce =
  | { readonly kind: "default" }
  | { readonly kind: "compiled"; readonly compiled: CompiledPolicies }
  | { readonly kind: "broken"; readonly at: string };

export interface PolicyStore extends Policy {
  /** Reads the policy files anew. On an error the last good policies stay; before the first, everything is denied. */
  reload(actions: () => Promise<readonly PolicyAction[]>): Promise<PolicyReport>;
  report(): PolicyReport;
  /** Whether everything is denied, because no policies could be loaded. */
  isBroken(): boolean;
  /** Whether somebody wrote policies, which may show other tools to each caller. */
  hasOwn(): boolean;
  /** The errors of the files, and what waits for trust, in words for callers. */
  problems(): readonly string[];
  waiting(): readonly string[];
  /** Calls back when policy files have changed. */
  watch(changed: () => void): () => void;
}

export interface PolicyReport {
  readonly policies: CompiledPolicies["policies"];
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
  /** Files whose permits wait for trust. */
  readonly waiting: readonly string[];
}

/** Names the state in which everything is denied, because the policies that somebody wrote cannot be used. */
const BROKEN = "llmc.broken";

/** Requests hold what clients chose: a failure that names it has as many messages as they like. */
const MAX_FAILURES = 100;

/** Decides with what is compiled, and keeps decisions. Says once of each failure that policy could not decide. */
const createDecider = ({ decisions, log }: Pick<StoreParts, "decisions" | "log">) => {
  const known = new Set<string>();
  const note = ({ failure, policies }: PolicyDecision): void => {
    if (failure === undefined || known.has(failure) || known.size >= MAX_FAILURES) return;
    known.add(failure);
    log.error({ failure, policies }, "policy could not decide, which refuses");
  };
  return ({ decide }: CompiledPolicies, request: PolicyRequest): PolicyDecision =>
    decisions.get(JSON.stringify(request), () => {
      const decision = decide(request);
      note(decision);
      return decision;
    });
};

/** In a refusal, which every call gets. */
const MAX_POSITIONS = 5;

const positionsOf = (problems: readonly PolicyProblem[]): string => {
  const positions = [...new Set(problems.map(positionForCallers))];
  const more = positions.length - MAX_POSITIONS;
  return [...positions.slice(0, MAX_POSITIONS), ...(more > 0 ? [`${more} more`] : [])].join(", ");
};

const logProblems = (log: Log, problems: readonly PolicyProblem[], isBroken: boolean): void =>
  log.error(
    { problems: problems.map(describeProblem) },
    isBroken
      ? "a policy file has an error: everything is denied until it is fixed"
      : "a policy file has an error; the last good policies stay in force",
  );

const logLoaded = (log: Log, { policies, warnings, waiting }: PolicyReport): void => {
  for (const warning of warnings) log.warn({}, describeProblem(warning));
  if (waiting.length > 0)
    log.warn({ waiting }, "what these policy files permit has no effect until llmc trust grants it");
  if (policies.length > 0) log.info({ policies: policies.length }, "policies are in force");
};

const NOTHING: PolicyReport = { policies: [], problems: [], warnings: [], waiting: [] };

/** The policies of the operator and of the workspace, together with the defaults. */
export const createPolicyStore = (parts: StoreParts): PolicyStore => {
  const { log } = parts;
  let inForce: InForce = { kind: "broken", at: "they are not loaded yet" };
  let report = NOTHING;
  let version = 0;
  let readBefore = "";
  let lastGood: ReadonlyMap<string, string> = new Map();
  const decideCompiled = createDecider(parts);
  const reader = createPolicyReader(parts.writers);
  const isOpen = (): boolean => !parts.loaded().config.mcp.security.default_deny;

  const fail = (problems: readonly PolicyProblem[]): void => {
    const isBroken = inForce.kind === "broken";
    if (isBroken) inForce = { kind: "broken", at: positionsOf(problems) };
    report = { ...report, problems };
    logProblems(log, problems, isBroken);
  };

  const apply = async (
    read: readonly PolicyFile[],
    actions: readonly PolicyAction[],
    found: readonly PolicyProblem[],
  ): Promise<void> => {
    // Servers without policy files never need it.
    const { compileFiles, compileUsable, goodTexts, withLastGood } = await import("./compile-policies.ts");
    const files = withLastGood(read, found, lastGood);
    const compile = (all: readonly PolicyFile[]) => compileFiles(all, actions, !isOpen());
    const isFirst = inForce.kind === "broken";
    const { result, problems } = isFirst
      ? await compile(files).then((first) => ({ result: first, problems: first.ok ? [] : first.problems }))
      : await compileUsable(files, lastGood, compile, found);
    if (!result.ok) return fail(problems);
    if (problems.length > 0) logProblems(log, problems, false);
    lastGood = goodTexts(files, problems, lastGood);
    const { compiled } = result;
    parts.decisions.clear();
    inForce = { kind: "compiled", compiled };
    const { policies, warnings } = compiled;
    const waiting = [...new Set(policies.filter(({ waits }) => waits).map(({ file }) => file))];
    report = { policies, problems, warnings, waiting };
    logLoaded(log, report);
  };

  return {
    decide: (request) => {
      switch (inForce.kind) {
        case "default":
          return decideByDefault(request, isOpen());
        case "compiled":
          return decideCompiled(inForce.compiled, request);
        case "broken":
          return { allowed: false, policies: [BROKEN], brokenAt: inForce.at };
      }
    },
    promptOf: (policy) =>
      inForce.kind === "compiled"
        ? (inForce.compiled.policies.find(({ id }) => id === policy)?.prompt ?? DEFAULT_PROMPTS[policy])
        : DEFAULT_PROMPTS[policy],
    report: () => report,
    isBroken: () => inForce.kind === "broken",
    hasOwn: () => inForce.kind === "compiled",
    problems: () =>
      report.problems.map((problem) => `an error in the policy file ${positionForCallers(problem)}`),
    waiting: () => report.waiting.map((file) => `the policies of ${showFile(file)}`),
    version: () => version,
    reload: async (listActions) => {
      const { files, problems } = readPolicyTexts(policySources(parts.loaded(), parts), parts, reader.read);
      const actions = files.length + problems.length === 0 ? [] : await listActions();
      // A reload of the configuration comes here, too; clients are notified only of what is new.
      const read = JSON.stringify([files, problems, actions, isOpen()]);
      if (read === readBefore) return report;
      const isHeld = inForce.kind === "broken" ? problems.length > 0 : problems.some((one) => one.mayPermit);
      if (isHeld) fail(problems);
      else if (files.length + problems.length > 0) await apply(files, actions, problems);
      else {
        if (inForce.kind === "compiled")
          log.warn(
            { policies: report.policies.length },
            "the policy files are gone; only the defaults are in force",
          );
        inForce = { kind: "default" };
        report = NOTHING;
      }
      // What the server starts with is not a change.
      if (readBefore !== "") version++;
      readBefore = read;
      return report;
    },
    watch: (changed) => {
      const stopWatching = watchPolicyFiles(policySources(parts.loaded(), parts), changed);
      const forget = parts.writers.onChecked(() => {
        if (reader.isWaiting()) changed();
      });
      return () => {
        stopWatching();
        forget();
      };
    },
  };
};

export interface FollowedPolicies {
  /** Puts in force what the configuration, trust, custom modules and policy files say now, and tells clients. */
  refresh(): Promise<void>;
  /** The same, where the tools are known to be the same. */
  reload(): Promise<void>;
  stop(): void;
}

/** Loads the policies, and again whenever their files change. */
export const followPolicies = async (
  policy: PolicyStore,
  core: Pick<Core, "actions" | "refresh">,
  log: Log,
  watch: boolean,
): Promise<FollowedPolicies> => {
  let stopWatching = (): void => {};
  const load = async (): Promise<void> => {
    // The new watch begins before the files are read, and before the old one ends: no edit falls in between.
    const stopBefore = stopWatching;
    if (watch) stopWatching = policy.watch(() => void reload());
    stopBefore();
    await policy.reload(core.actions);
  };
  const loadAndNotify = async (): Promise<void> => {
    const before = policy.version();
    await load();
    if (policy.version() !== before) await core.refresh();
  };
  let queue = load();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    queue = queue.then(work).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : "unknown";
      log.error({ reason }, "the policies could not be loaded again; the last good ones stay in force");
    });
    return queue;
  };
  const reload = (): Promise<void> => inTurn(loadAndNotify);
  await queue;
  return {
    reload,
    // Policies name tools: those of custom modules have to be known first.
    refresh: () => inTurn(() => core.refresh().then(loadAndNotify)),
    stop: () => stopWatching(),
  };
};
