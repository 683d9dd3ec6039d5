import { basename, dirname, join, relative, resolve } from "node:path";
import { isInside } from "../base/paths.ts";
import type { Loaded } from "../config/load.ts";
import type { ConfigStore } from "../config/store.ts";
import type { UserFolders } from "../config/user-folders.ts";
import type { Core } from "../core/core.ts";
import type { Policy } from "../core/escalate.ts";
import { loadCedar } from "../host/os/bundled-files.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import { type PolicyText, readPolicyFiles, watchPolicyFiles } from "../host/own-files/policy-files.ts";
import type { Log } from "../observe/log.ts";
import { decideByDefault } from "../policy/cedar/default-decision.ts";
import { DEFAULT_PROMPTS } from "../policy/cedar/default-policies.ts";
import type { Cedar, CompiledPolicies, PolicyFile, PolicyProblem } from "../policy/cedar/engine.ts";
import type { PolicyAction, PolicyDecision, PolicyRequest } from "../policy/cedar/model.ts";
import { POLICIES_KEY } from "./load.ts";

interface StoreParts {
  readonly root: string;
  readonly folders: UserFolders;
  readonly loaded: () => Loaded;
  /** Names this store in Cedar's memory. */
  readonly slot: string;
  readonly log: Log;
}

/** What is in force: the defaults alone, an operator's policies with them, or nothing at all. */
type InForce =
  | { readonly kind: "default" }
  | { readonly kind: "compiled"; readonly compiled: CompiledPolicies }
  | { readonly kind: "broken"; readonly problem: string };

export interface PolicyStore extends Policy {
  /** Reads the policy files anew. On an error the last good policies stay; before the first, everything is denied. */
  reload(actions: () => Promise<readonly PolicyAction[]>): Promise<PolicyReport>;
  report(): PolicyReport;
  /** Calls back when policy files have changed. */
  watch(changed: () => void): () => void;
}

export interface PolicyReport {
  readonly policies: CompiledPolicies["policies"];
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
}

/** Policies that deny everything, because those that somebody wrote cannot be read. */
const BROKEN = "llmc.broken";

const describeProblem = ({ file, line, column, message }: PolicyProblem): string =>
  `${file}${line === 0 ? "" : `:${line}:${column}`}: ${message}`;

const USUAL_FOLDER = "~/.config/llmc/";

/** `~/.config` in the default stands for the user's configuration folder, wherever that is. */
export const policyPatterns = (
  { mcp }: Loaded["config"],
  root: string,
  folders: UserFolders,
): readonly string[] =>
  mcp.security.policy_files.map((pattern) => {
    if (pattern.startsWith(USUAL_FOLDER)) return join(folders.config, pattern.slice(USUAL_FOLDER.length));
    return pattern.startsWith("~/") ? join(folders.home, pattern.slice(2)) : resolve(root, pattern);
  });

/** What nobody but the operator may write: the files, or the folder in which a file would become one. */
export const policyPaths = (...from: Parameters<typeof policyPatterns>): readonly string[] =>
  policyPatterns(...from).map((pattern) => (basename(pattern).includes("*") ? dirname(pattern) : pattern));

/** Files of the workspace that its own configuration names may only forbid, until the operator trusts their content. */
const mayPermit = ({ path, text }: PolicyText, { origins, workspaceFile }: Loaded, root: string): boolean => {
  const isWorkspaces = workspaceFile !== undefined && origins.get(POLICIES_KEY)?.source === "file";
  if (!isWorkspaces || !isInside(path, root)) return true;
  return workspaceFile.digests[POLICIES_KEY]?.[relative(root, path)] === sha256(text);
};

/** The decisions of the last requests; a new set of policies starts with none. */
const MAX_CACHED = 2000;

const cached = (decide: (request: PolicyRequest) => PolicyDecision) => {
  const known = new Map<string, PolicyDecision>();
  return (request: PolicyRequest): PolicyDecision => {
    const key = JSON.stringify(request);
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= MAX_CACHED) known.clear();
    const decision = decide(request);
    known.set(key, decision);
    return decision;
  };
};

const readFiles = (
  parts: StoreParts,
): { readonly files: readonly PolicyFile[]; readonly problems: readonly PolicyProblem[] } => {
  const loaded = parts.loaded();
  const { files, unreadable } = readPolicyFiles(policyPatterns(loaded.config, parts.root, parts.folders));
  return {
    files: files.map((file) => ({
      name: isInside(file.path, parts.root) ? relative(parts.root, file.path) : file.path,
      text: file.text,
      mayPermit: mayPermit(file, loaded, parts.root),
    })),
    problems: unreadable.map(({ path, reason }) => ({ file: path, line: 0, column: 0, message: reason })),
  };
};

/** The policies of the operator and of the workspace, together with the defaults. */
export const createPolicyStore = (parts: StoreParts): PolicyStore => {
  let inForce: InForce = { kind: "broken", problem: "the policies are not loaded yet" };
  let report: PolicyReport = { policies: [], problems: [], warnings: [] };
  let version = 0;
  let fingerprint = "";
  const isOpen = (): boolean => !parts.loaded().config.mcp.security.default_deny;

  const compile = async (files: readonly PolicyFile[], actions: readonly PolicyAction[]) => {
    const { compilePolicies } = await import("../policy/cedar/engine.ts");
    const cedar = loadCedar() as Cedar;
    return compilePolicies(cedar, { slot: parts.slot, actions, files, defaultDeny: !isOpen() });
  };

  const fail = (problems: readonly PolicyProblem[]): PolicyReport => {
    const problem = problems.map(describeProblem).join("; ");
    const isFirst = inForce.kind === "broken";
    if (isFirst) inForce = { kind: "broken", problem };
    report = { ...report, problems };
    parts.log.error(
      { problems: problems.map(describeProblem) },
      isFirst
        ? "a policy file has an error: everything is denied until it is mended"
        : "a policy file has an error; the last good policies stay in force",
    );
    return report;
  };

  return {
    decide: (request) => {
      switch (inForce.kind) {
        case "default":
          return decideByDefault(request, isOpen());
        case "compiled":
          return inForce.compiled.decide(request);
        case "broken":
          return { allowed: false, policies: [BROKEN] };
      }
    },
    promptOf: (policy) =>
      inForce.kind === "compiled"
        ? (inForce.compiled.policies.find(({ id }) => id === policy)?.annotations["prompt"] ??
          DEFAULT_PROMPTS[policy])
        : DEFAULT_PROMPTS[policy],
    report: () => report,
    version: () => version,
    reload: async (actions) => {
      const { files, problems } = readFiles(parts);
      const next = JSON.stringify([files, problems, isOpen()]);
      if (next !== fingerprint) version++;
      fingerprint = next;
      if (problems.length > 0) return fail(problems);
      if (files.length === 0) {
        inForce = { kind: "default" };
        report = { policies: [], problems: [], warnings: [] };
        return report;
      }
      const result = await compile(files, await actions());
      if (!result.ok) return fail(result.problems);
      const { compiled } = result;
      inForce = { kind: "compiled", compiled: { ...compiled, decide: cached(compiled.decide) } };
      report = { policies: compiled.policies, problems: [], warnings: compiled.warnings };
      for (const warning of report.warnings) parts.log.warn({}, describeProblem(warning));
      return report;
    },
    watch: (changed) =>
      watchPolicyFiles(policyPatterns(parts.loaded().config, parts.root, parts.folders), changed),
  };
};

/** Loads the policies, and again whenever their files, the configuration or the tools change. */
export const followPolicies = async (
  policy: PolicyStore,
  core: Pick<Core, "actions" | "refresh">,
  store: ConfigStore,
  watch: boolean,
): Promise<() => void> => {
  let stopWatching = (): void => {};
  let reloaded: Promise<unknown> = Promise.resolve();
  const changed = (): void => {
    const before = policy.version();
    reloaded = reloaded.then(reload).then(() => (policy.version() === before ? undefined : core.refresh()));
  };
  const reload = (): Promise<unknown> => {
    // Watched first: an edit while the files are read has an event.
    stopWatching();
    if (watch) stopWatching = policy.watch(changed);
    return policy.reload(core.actions);
  };
  reloaded = reload();
  await reloaded;
  const forget = store.onChange(changed);
  return () => {
    forget();
    stopWatching();
  };
};
