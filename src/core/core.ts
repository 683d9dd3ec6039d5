import { createBoundedQueue } from "../base/bounded-queue.ts";
import type { Cache } from "../base/caches.ts";
import type { BreakerState } from "../base/circuit-breaker.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import type { Observer } from "../observe/observer.ts";
import type { PolicyAction } from "../policy/cedar/model.ts";
import type { CallContext, Caller, Prompt, Resource, ResourceTemplate } from "../tools/contract.ts";
import type { Effect, HealthReport, HealthView, ServerView, Tool, ToolEntry } from "../tools/tool.ts";
import { type Authorizer, createAuthorizer } from "./authorizer.ts";
import type { Call, PipeSettings } from "./call.ts";
import { type CorePorts, createCalls } from "./calls.ts";
import type { ModuleKit, ModuleSource } from "./custom-modules.ts";
import { createDispatcher, type DispatchSettings } from "./dispatcher.ts";
import { createDocuments, type MatchTemplate } from "./documents.ts";
import type { DoorCore } from "./door-core.ts";
import type { AuthorizerSettings, Policy, QuestionEvent } from "./escalate.ts";
import type { ExecutableSource } from "./executables.ts";
import { createGrants, type RefusedByUsers } from "./grants.ts";
import { createGuard } from "./guard.ts";
import { handleTemplate } from "./handle-resources.ts";
import { createHealth, type HealthProbe, type Load } from "./health.ts";
import { instructionsFor } from "./instructions.ts";
import type { Mode } from "./modes.ts";
import { createMayCall, createNestedCall } from "./nested-call.ts";
import type { Origin } from "./origin.ts";
import { type PublishedTool, publishTool } from "./publish.ts";
import { createRefresh } from "./refresh.ts";
import { createRegistry, type LeftOutCode, type Registry, type RegistrySettings } from "./registry.ts";
import { actionOf, OTHER_ACTIONS } from "./requests.ts";
import { createResourceLists } from "./resource-lists.ts";
import { createSidecarWatch } from "./sidecars.ts";
import { createStubs } from "./stub-view.ts";

/** What the core reads from the configuration; asked anew each time, because the configuration is hot. */
export interface CoreSettings extends RegistrySettings, PipeSettings, AuthorizerSettings, DispatchSettings {
  readonly configVersion: string;
  readonly sidecars: readonly string[];
  /** Publish a choice at the top of a schema, which some model APIs reject (REQ-D11). */
  readonly publishesOneOf: boolean;
  /** Defaults of fields that the operator sets, by tool: clients are shown what applies. */
  readonly publishedDefaults: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Programs that commands may start, by name or path; the instructions name them. */
  readonly allowedPrograms: readonly string[];
  readonly defaultAgentId: string;
  readonly defaultModel: string;
  readonly defaultBudgetProfile: string;
}

interface ServeOptions {
  /** By default, `mcp.request_timeout_seconds`. */
  readonly timeoutMs?: number;
  /** Further actions of policy that the work comes to. */
  readonly also?: readonly string[];
}

/** The core as doors see it. */
export interface Core extends DoorCore {
  /** The same pipe over all tools, whatever the mode shows: for HTTP endpoints that stand for one tool. */
  readonly callInAnyMode: Call;
  /** Work of a door that is not a tool call, under the same guard: scopes, queue, deadline, record. */
  serve<T>(
    name: string,
    origin: Origin,
    work: (context: CallContext) => Promise<T>,
    options?: ServeOptions,
  ): Promise<T>;
  listTools(caller?: Caller): readonly PublishedTool[];
  /** Throws unless policy lets the caller use an endpoint that does no work of a tool. */
  authorizeEndpoint(name: string, caller: Caller): void;
  /** What policy would say. */
  readonly explain: Authorizer["explain"];
  /** Everything that policies decide on. */
  actions(): Promise<readonly PolicyAction[]>;
  /** What clients would see in another mode. */
  preview(mode: Mode): Promise<readonly PublishedTool[]>;
  prompts(): readonly Prompt[];
  resources(caller: Caller): Promise<readonly Resource[]>;
  templates(): readonly ResourceTemplate[];
  /** Custom modules and executables that did not become tools, and why. */
  leftOut(): readonly LeftOutCode[];
  health(): HealthView;
  checkHealth(): Promise<HealthReport>;
  load(): Load;
  /** Backends that have been used, and the worst state of their circuit breakers. */
  breakers(): Readonly<Record<string, BreakerState>>;
  settings(): CoreSettings;
  /** What users do not want to be asked again. */
  readonly refusedByUsers: RefusedByUsers;
  forgetGranted(owner: string): void;
  /** Reads settings and custom modules anew and tells listeners which lists changed. */
  refresh(): Promise<void>;
  /** Calls back after each refresh, whatever it changed. */
  onRefreshed(listener: () => void): () => void;
  /** What a tool of the mode in force does to the world; undefined if there is no such tool. */
  effectOf(tool: string): Effect | undefined;
  close(): void;
}

interface CoreParts {
  readonly settings: () => CoreSettings;
  readonly tools: readonly ToolEntry[];
  /**
   * The ports of the tools, built from the core's own information. Tools named linux_* have roots of their own
   * (REQ-D15).
   */
  readonly ports: (server: ServerView) => CorePorts;
  readonly metrics: ServerView["metrics"];
  readonly metricsOver: ServerView["metricsOver"];
  readonly probes: readonly HealthProbe[];
  readonly countQuestion: (event: QuestionEvent) => void;
  /** Replaces the server's own secrets in a text. */
  readonly hideSecrets: (text: string) => string;
  readonly observer: Observer;
  readonly audit: AuditTrail;
  readonly modules: ModuleSource;
  readonly executables: ExecutableSource;
  /** Loads what custom modules wrap their JSON Schemas with. */
  readonly jsonSchema: () => Promise<ModuleKit["jsonSchema"]>;
  readonly matchTemplate: MatchTemplate;
  /** Calls back when a workspace file changes; returns the stop function. */
  readonly watchFile: (path: string, changed: () => void) => () => void;
  readonly program: string;
  /** Keys of the workspace's file that are not in force until it is trusted. */
  readonly waiting: () => readonly string[];
  /** What is wrong with the operator's files, while the last good ones are in force. */
  readonly problems: () => readonly string[];
  readonly now: () => number;
  readonly policy: Policy;
  /** How policies name the workspace. */
  readonly workspace: string;
  /** Tools as they are published; emptied when the tools change. */
  readonly schemas: Cache<PublishedTool>;
  readonly newId: () => string;
  readonly digest: (text: string) => string;
}

const publishBy = (
  { publishesOneOf: oneOf, publishedDefaults }: CoreSettings,
  tool: Tool,
  outputSchema: boolean,
): PublishedTool => publishTool(tool, { outputSchema, oneOf, defaults: publishedDefaults[tool.name] });

/** What the server tells about itself, to clients and to tools. */
const createViews = (
  { settings, program, waiting, problems, now, schemas }: CoreParts,
  registry: () => Registry,
  { isPossible }: Authorizer,
) => {
  const startedAt = now();
  const catalogue = () => registry().catalogue();
  const sendsStructured = () => catalogue().settings.mode === "classic";
  const offered = (caller: Caller | undefined): readonly Tool[] =>
    catalogue().tools.filter((tool) => caller === undefined || isPossible(tool, caller));
  const publish = (tool: Tool, outputSchema: boolean): PublishedTool => {
    const defaults = JSON.stringify(settings().publishedDefaults[tool.name] ?? "");
    return schemas.get(`${tool.name}\0${outputSchema}\0${defaults}`, () =>
      publishBy(settings(), tool, outputSchema),
    );
  };
  return {
    sendsStructured,
    listTools: (caller?: Caller) => offered(caller).map((tool) => publish(tool, sendsStructured())),
    effectOf: (name: string): Effect | undefined => {
      try {
        return catalogue().find(name).effect;
      } catch {
        return undefined;
      }
    },
    instructions: (caller?: Caller) =>
      instructionsFor(catalogue().settings.mode, offered(caller), settings().allowedPrograms),
    health: (): HealthView => ({
      ok: true,
      version: settings().configVersion,
      program,
      mode: catalogue().settings.mode,
      uptimeSeconds: Math.round((now() - startedAt) / 1000),
      tools: catalogue().tools.length,
      waiting: [...waiting(), ...registry().untrusted()],
      problems: problems(),
    }),
  };
};

/** When calls run, and how many do. */
const createDispatch = ({ settings, now, observer }: CoreParts) => {
  const dispatcher = createDispatcher({
    settings,
    now,
    onBreaker: (backend, state) => observer.log.warn({ backend, state }, "circuit breaker"),
  });
  const queue = createBoundedQueue(() => ({
    maxRunning: settings().maxConcurrent,
    maxWaiting: settings().maxQueued,
  }));
  const load = (): Load => {
    const { running, waiting } = queue.load();
    return { running, waiting: waiting + dispatcher.waiting(), maxRunning: settings().maxConcurrent };
  };
  return { dispatcher, queue, load };
};

export const createCore = async (parts: CoreParts): Promise<Core> => {
  const { settings, observer, now, modules, jsonSchema, matchTemplate } = parts;
  const grants = createGrants(now, parts.newId);
  const authorizer = createAuthorizer({
    policy: parts.policy,
    settings,
    workspace: parts.workspace,
    grants,
    digest: parts.digest,
    onQuestion: parts.countQuestion,
    hideSecrets: parts.hideSecrets,
  });
  const { dispatcher, queue, load } = createDispatch(parts);
  const views = createViews(parts, () => registry, authorizer);
  const { breakers } = dispatcher;
  const checkHealth = createHealth({ probes: parts.probes, load, breakers, now });
  const allTools = async () => (await registry.catalogueOf("classic")).tools;
  const stubs = createStubs({
    tools: allTools,
    isPossible: authorizer.isPossible,
  });
  const { metrics, metricsOver } = parts;
  const callTool = createNestedCall(
    () => calls.callInAnyMode,
    () => guard,
  );
  const cancellationOf: ServerView["cancellationOf"] = (context) => guard.originOf(context)?.requestSignal;
  const nested = { callTool, mayCall: createMayCall(allTools, authorizer), cancellationOf };
  const ports = parts.ports({ ...views, stubs, metrics, metricsOver, checkHealth, ...nested });
  const { files, handles } = ports.main;
  const registry = await createRegistry({
    settings,
    tools: parts.tools,
    templates: [handleTemplate(handles)],
    modules,
    executables: parts.executables,
    jsonSchema,
    log: observer.log,
  });
  const resources = createResourceLists(settings, ports.main, registry, authorizer);
  const sidecarWatch = createSidecarWatch({
    paths: () => settings().sidecars,
    files,
    watchFile: parts.watchFile,
  });
  const guard = createGuard({
    authorizer,
    dispatcher,
    queue,
    observer,
    audit: parts.audit,
    digest: parts.digest,
    now,
  });
  const calls = createCalls({ settings, ports, registry, guard, authorizer, dispatcher });
  const documents = createDocuments({
    catalogue: registry.catalogue,
    resources: resources.of,
    timeoutMs: () => settings().timeoutMs,
    guard,
    matchTemplate,
  });
  return {
    ...views,
    ...documents,
    ...calls,
    authorizeEndpoint: authorizer.checkEndpoint,
    explain: authorizer.explain,
    actions: async () => [...(await registry.catalogueOf("classic")).tools.map(actionOf), ...OTHER_ACTIONS],
    ...createRefresh({
      registry,
      listTools: views.listTools,
      sharedResources: resources.shared,
      policy: parts.policy,
      onRebuilt: () => {
        parts.schemas.clear();
        stubs.clear();
        sidecarWatch.restart();
      },
    }),
    serve: (name, origin, work, { timeoutMs = settings().timeoutMs, ...options } = {}) =>
      guard.serve({ kind: name, input: () => "", origin, timeoutMs, ...options }, JSON.stringify, work),
    preview: async (mode) =>
      (await registry.catalogueOf(mode)).tools.map((tool) => publishBy(settings(), tool, mode === "classic")),
    prompts: () => registry.catalogue().prompts,
    resources: resources.of,
    templates: () => registry.catalogue().templates,
    leftOut: registry.leftOut,
    settings,
    refusedByUsers: grants.refused,
    forgetGranted: grants.forgetGranted,
    checkHealth,
    load,
    breakers,
    onResourceUpdated: sidecarWatch.onUpdated,
    close: sidecarWatch.stop,
  };
};
