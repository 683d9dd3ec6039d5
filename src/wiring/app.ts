import { basename, resolve } from "node:path";
import { type Caches, createCaches } from "../base/caches.ts";
import { toLlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import type { Overrides } from "../config/overrides.ts";
import type { ConfigStore } from "../config/store.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { waitingHint } from "../config/waiting.ts";
import { type Core, createCore } from "../core/core.ts";
import { auditSettings } from "../host/audit/settings.ts";
import { newId, shortDigest } from "../host/os/lazy-builtins.ts";
import type { Stderr } from "../host/os/stdio.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { createDisk, type Disk } from "../host/own-files/disk.ts";
import { identitiesOf } from "../host/own-files/start-cache.ts";
import { createWorkspaceFiles } from "../host/own-files/workspace-files.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import type { LiveLog } from "../observe/log.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import { createObserver, type Observer } from "../observe/observer.ts";
import type { RefusalLog } from "../observe/refusal-log.ts";
import { createTokenAudit } from "../observe/token-audit.ts";
import { allTools } from "../tools/all.ts";
import { createAudit } from "./audit-wiring.ts";
import { CACHE_MS } from "./cache-times.ts";
import { openCustomCode } from "./custom-code.ts";
import type { Engines } from "./engines.ts";
import { followConfig, watchFileIn } from "./follow-config.ts";
import { addCacheGauges, addCoreGauges, healthProbes } from "./health-probes.ts";
import { loadJsonSchema } from "./json-schema.ts";
import { createKnownSecrets } from "./known-secrets.ts";
import { lazyPorts } from "./lazy-port.ts";
import { FLOWS_KEY } from "./load.ts";
import { openConfig } from "./open-config.ts";
import { createPolicyStore, followPolicies, type PolicyStore } from "./policy-store.ts";
import { policyPaths } from "./policy-texts.ts";
import { createRefusals } from "./refusals.ts";
import { refuseOutside } from "./refuse-outside.ts";
import { coreSettingsOf, observeSettingsOf } from "./settings.ts";
import { trustCommandOf } from "./trust-command-line.ts";
import { VERSION } from "./version.ts";
import { describeWaitingKeys, grantedDigests, waitingFolders } from "./workspace-content.ts";

export interface AppRequest {
  readonly root: string;
  /** Where the program was started. */
  readonly cwd: string;
  readonly configPath?: string | undefined;
  readonly overrides: Overrides;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folders: UserFolders;
  readonly stderr: Stderr;
  /** Follow edits of the configuration file. */
  readonly watch: boolean;
}

/** Everything that a door needs. */
export interface App {
  readonly core: Core;
  readonly config: ConfigStore;
  readonly observer: Observer;
  readonly audit: AuditTrail;
  readonly log: LiveLog;
  readonly metrics: Metrics;
  readonly policy: PolicyStore;
  /** The state of the policy files and their folders before they were read. */
  readonly policyIdentities: Loaded["identities"];
  /** What the doors refuse. */
  readonly refusals: RefusalLog;
  readonly disk: Disk;
  readonly root: string;
  readonly secrets: ReturnType<typeof createKnownSecrets>;
  readonly folders: UserFolders;
  /** Loads what the tools work with, if nobody has yet. */
  engines(): Promise<Engines>;
  readonly newId: () => string;
  readonly now: () => number;
  close(): Promise<void>;
}

/** How long the last audit lines and spans may take at the end, in milliseconds. */
const FLUSH_MS = 1000;

/** Settings are derived once per configuration, not once per call. */
const memoize = <T>(config: () => Loaded["config"], derive: (config: Loaded["config"]) => T): (() => T) => {
  let from: Loaded["config"] | undefined;
  let value: T | undefined;
  return () => {
    const current = config();
    if (from !== current || value === undefined) {
      from = current;
      value = derive(current);
    }
    return value;
  };
};

const createTelemetry = async (
  config: () => Loaded["config"],
  log: Observer["log"],
  root: string,
  now: () => number,
) => {
  const metrics = createMetrics(now);
  const audit = createTokenAudit({
    tokenCounter,
    disk: createWorkspaceFiles(root),
    path: () => resolve(root, config().mcp.observability.csv_path),
    today: () => new Date(),
    onCounted: metrics.countTokens,
    onError: (error) =>
      log.warn(
        { code: error instanceof Error && "code" in error ? String(error.code) : "unknown" },
        "the token audit could not be written",
      ),
  });
  const {
    enabled,
    otlp_endpoint: endpoint,
    csv_token_audit_enabled: audits,
    retention_days: days,
  } = config().mcp.observability;
  if (enabled && audits) void audit.prune(days);
  const tracer =
    enabled && endpoint !== ""
      ? await (await import("../observe/trace.ts")).createTracer(endpoint, VERSION, () =>
          log.warn({}, "traces could not be sent"),
        )
      : undefined;
  return { metrics, audit, tracer };
};

/** The engines, loaded once by whoever needs them first. */
const createEngineLoader = (
  { root, cwd, folders, env }: AppRequest,
  store: ConfigStore,
  log: LiveLog,
  metrics: Metrics,
  writers: LiveWriters,
  caches: Caches,
  audit: AuditTrail,
) => {
  let loading: Promise<Engines> | undefined;
  let ready: Engines | undefined;
  let failure: unknown;
  return {
    load: (): Promise<Engines> => {
      loading ??= import("./engines.ts").then(({ createEngines }) =>
        createEngines({
          root,
          config: () => store.current().config,
          configFiles: () => [store.current().lookedAt, ...store.current().alsoFrom],
          folders,
          env,
          waitingModules: () => waitingFolders(store.current()),
          flowDigests: () => grantedDigests(store.current(), { root, folders }, FLOWS_KEY),
          trustHint: (key, item) =>
            waitingHint(store.current().waiting, key, item, trustCommandOf({ root, cwd, folders })),
          log,
          models: {
            audit,
            onModel: (model, { usage, costUsd }) => metrics.recordModel(model, usage, costUsd),
          },
          writers,
          knowledgeCache: caches.open("kb", CACHE_MS.kb),
          onCommand: metrics.recordEnvelope,
        }),
      );
      void loading.then(
        (engines) => {
          ready = engines;
        },
        (thrown: unknown) => {
          failure = thrown;
        },
      );
      return loading;
    },
    /** Undefined as long as nobody needed them, or they are being loaded; throws if they could not be. */
    loaded: (): Engines | undefined => {
      if (failure !== undefined) throw toLlmcError(failure);
      return ready;
    },
    /** Engines that could not be loaded have nothing to close, and whoever asked for them was told why. */
    close: async (): Promise<void> => (await loading?.catch(() => undefined))?.close(),
  };
};

const portsFrom =
  (load: () => Promise<Engines>): Parameters<typeof createCore>[0]["ports"] =>
  (server) => ({
    main: lazyPorts({ server }, load),
    linux: lazyPorts({ server }, async () => (await load()).linux()),
    outside: (kind, granted) => lazyPorts({ server }, async () => (await load()).outside(kind, granted)),
    realPathOf: async (path) => (await import("../host/reach/real-path.ts")).realPathOf(path),
  });

export const createApp = async (request: AppRequest): Promise<App> => {
  const { root, stderr } = request;
  const disk = createDisk();
  const { store, log, writers } = await openConfig(request);
  refuseOutside(store.current());
  const config = () => store.current().config;
  const now = () => performance.now();
  const { metrics, audit, tracer } = await createTelemetry(config, log, root, now);
  const observer = createObserver({
    settings: memoize(config, observeSettingsOf),
    log,
    metrics,
    tracer,
    audit,
  });
  const trail = createAudit({
    root,
    userState: request.folders.state,
    settings: memoize(config, ({ mcp }) => auditSettings(mcp.audit)),
    log,
  });
  const refusals = createRefusals({ audit: trail, log, now });
  const maxCacheBytes = () => config().mcp.performance.cache_size_mb * 1024 * 1024;
  const caches = createCaches({ maxBytes: maxCacheBytes, now });
  addCacheGauges(metrics, caches);
  const engines = createEngineLoader(request, store, log, metrics, writers, caches, trail);
  const custom = openCustomCode(store, request, writers);
  const policyIdentities = identitiesOf(policyPaths(store.current().config, request));
  const policy = createPolicyStore({
    root,
    folders: request.folders,
    loaded: store.current,
    log,
    decisions: caches.open("permissions", CACHE_MS.permissions),
    writers,
  });
  const secrets = createKnownSecrets(config, request.env);
  const core = await createCore({
    policy,
    workspace: basename(root),
    schemas: caches.open("schemas", CACHE_MS.schemas),
    newId,
    digest: shortDigest,
    settings: memoize(config, (current) => coreSettingsOf(current, root)),
    tools: allTools,
    ports: portsFrom(engines.load),
    metrics: metrics.snapshot,
    metricsOver: metrics.over,
    countQuestion: metrics.countQuestion,
    hideSecrets: secrets.hide,
    probes: healthProbes({ engines: engines.loaded, metrics, policy, caches, maxCacheBytes, audit: trail }),
    observer,
    audit: trail,
    ...custom,
    jsonSchema: loadJsonSchema,
    matchTemplate: async (template, uri) => (await import("../mcp/kit.ts")).matchTemplate(template, uri),
    watchFile: watchFileIn(root, disk),
    program: `llmc ${VERSION}`,
    waiting: () => [...describeWaitingKeys(store.current(), request), ...policy.waiting()],
    problems: policy.problems,
    now,
  });
  addCoreGauges(metrics, core, trail);
  const policies = await followPolicies(policy, core, log, request.watch);
  const stopFollowing = await followConfig(request, store, log, core, policies, custom, disk);
  return {
    core,
    config: store,
    observer,
    audit: trail,
    log,
    metrics,
    policy,
    policyIdentities,
    refusals,
    disk,
    root,
    secrets,
    folders: request.folders,
    newId,
    now,
    engines: engines.load,
    close: async () => {
      stopFollowing();
      policies.stop();
      await engines.close();
      core.close();
      refusals.flush();
      await trail.close();
      // A disk or a collector that never answers does not keep the program from ending.
      const sent = Promise.all([audit.flush(), tracer?.flush().catch(() => {})]);
      await Promise.race([sent, new Promise((late) => setTimeout(late, FLUSH_MS).unref())]);
      await log.flush();
      await stderr.flush();
    },
  };
};
