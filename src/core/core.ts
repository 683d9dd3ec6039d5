import { createBoundedQueue } from "../base/bounded-queue.ts";
import type { Observer } from "../observe/observer.ts";
import type { CallContext, Caller, Prompt, Resource, ResourceTemplate } from "../tools/contract.ts";
import type { HealthView, Ports, ToolEntry } from "../tools/tool.ts";
import { type Call, createCall, type PipeSettings } from "./call.ts";
import { type Catalogue, createCatalogue, NOTHING_REGISTERED, type Registered } from "./catalogue.ts";
import type { ModuleKit, ModuleSource } from "./custom-modules.ts";
import { createDocuments, type Documents, type MatchTemplate } from "./documents.ts";
import { createGuard, type Origin } from "./guard.ts";
import { handleResources, handleTemplate } from "./handle-resources.ts";
import { instructionsFor } from "./instructions.ts";
import type { Mode, ModeSettings } from "./modes.ts";
import { type PublishedTool, publishTool } from "./publish.ts";
import { presentSidecars, sidecarResources } from "./sidecars.ts";

/** What the core reads from the configuration; asked anew each time, because the configuration is hot. */
export interface CoreSettings extends ModeSettings, PipeSettings {
  readonly configVersion: string;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly budgetWarningChars: number;
  readonly sidecars: readonly string[];
  /** Absolute path, or undefined for none. */
  readonly customModules: string | undefined;
  readonly defaultAgentId: string;
  readonly defaultModel: string;
}

/** What changed for clients: the lists that they may have cached. */
export type ListKind = "tools" | "prompts" | "resources";

/** The core as doors see it. */
export interface Core extends Documents {
  readonly call: Call;
  /** The same pipe over all tools, whatever the mode shows: for endpoints of their own, which name the tool themselves. */
  readonly callInAnyMode: Call;
  /** Work of a door's own, under the same guard as tools: place, deadline (the configured one, unless named), record. */
  serve<T>(
    name: string,
    origin: Origin,
    work: (context: CallContext) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T>;
  listTools(): readonly PublishedTool[];
  /** What clients would see in another mode. */
  preview(mode: Mode): Promise<readonly PublishedTool[]>;
  prompts(): readonly Prompt[];
  /** Those that everybody sees, and the handles of the caller. */
  resources(caller: Caller): Promise<readonly Resource[]>;
  templates(): readonly ResourceTemplate[];
  instructions(): string;
  health(): HealthView;
  settings(): CoreSettings;
  /** Structured content goes out beside the text in classic mode only (REQ-D13). */
  sendsStructured(): boolean;
  /** Reads settings and custom modules anew and tells listeners which lists changed. */
  refresh(): Promise<void>;
  onListChanged(listener: (kind: ListKind) => void): () => void;
  /** Calls back with the URI of a resource whose content changed. */
  onResourceUpdated(listener: (uri: string) => void): () => void;
  close(): void;
}

interface CoreParts {
  readonly settings: () => CoreSettings;
  readonly tools: readonly ToolEntry[];
  /** What tools work with; the core adds what it knows of itself. */
  readonly engines: Omit<Ports, "server">;
  /** The same for linux_* tools, which have roots of their own (REQ-D15). */
  readonly linux: Partial<Ports>;
  readonly metrics: () => Promise<Readonly<Record<string, unknown>>>;
  readonly observer: Observer;
  readonly modules: ModuleSource;
  readonly jsonSchema: ModuleKit["jsonSchema"];
  readonly matchTemplate: MatchTemplate;
  /** Calls back when a workspace file changes; returns the stop function. */
  readonly watchFile: (path: string, changed: () => void) => () => void;
  readonly program: string;
  /** Keys of the workspace's file that are not in force until it is trusted. */
  readonly waiting: () => readonly string[];
  readonly now: () => number;
}

const fingerprint = (published: readonly unknown[]): string => JSON.stringify(published);

export const createCore = async (parts: CoreParts): Promise<Core> => {
  const { settings, observer, now } = parts;
  const startedAt = now();
  const listeners = new Set<(kind: ListKind) => void>();
  const updateListeners = new Set<(uri: string) => void>();
  let stopWatching: (() => void)[] = [];
  const builtIn: Registered = {
    ...NOTHING_REGISTERED,
    tools: parts.tools,
    templates: [handleTemplate(parts.engines.handles)],
  };
  let custom: Registered = NOTHING_REGISTERED;
  let catalogue: Catalogue;

  const sendsStructured = () => catalogue.settings.mode === "classic";
  const listTools = () =>
    catalogue.tools.map((tool) => publishTool(tool, { outputSchema: sendsStructured() }));
  const instructions = () => instructionsFor(catalogue.settings.mode, catalogue.tools);
  const health = (): HealthView => ({
    ok: true,
    version: settings().configVersion,
    program: parts.program,
    mode: catalogue.settings.mode,
    uptimeSeconds: Math.round((now() - startedAt) / 1000),
    tools: catalogue.tools.length,
    waiting: parts.waiting(),
  });

  const loadCustom = async (): Promise<Registered> => {
    const { customModules } = settings();
    if (customModules === undefined) return NOTHING_REGISTERED;
    const { loadCustomModules } = await import("./custom-modules.ts");
    const { registered, failures } = await loadCustomModules(
      customModules,
      parts.modules,
      parts.jsonSchema,
      builtIn,
    );
    for (const { file, reason } of failures) observer.log.warn({ file, reason }, "custom module left out");
    return registered;
  };

  const announce = (next: Catalogue): void => {
    if (next.phantoms.length > 0) {
      observer.log.warn({ tools: next.phantoms }, "configured tools with nothing behind them are left out");
    }
    if (next.settings.mode !== "hybrid") return;
    const chars = JSON.stringify(
      next.tools.map((tool) => publishTool(tool, { outputSchema: false }).inputSchema),
    ).length;
    if (chars > settings().budgetWarningChars) {
      observer.log.warn(
        { chars, budget: settings().budgetWarningChars },
        "the tool list is over mcp.hybrid.bootstrap_budget_warning",
      );
    }
  };

  const catalogueOf = (mode: Mode, only?: string): Promise<Catalogue> => {
    const { promotedTools, includeExecuteCode, withheldTools } = settings();
    return createCatalogue(builtIn, custom, { mode, promotedTools, includeExecuteCode, withheldTools }, only);
  };

  const build = async (): Promise<void> => {
    custom = await loadCustom();
    catalogue = await catalogueOf(settings().mode);
    announce(catalogue);
  };

  const sharedResources = async (): Promise<readonly Resource[]> => {
    const present = await presentSidecars(settings().sidecars, parts.engines.files);
    return [...sidecarResources(present, parts.engines.files), ...catalogue.resources];
  };

  const resources = async (caller: Caller): Promise<readonly Resource[]> => {
    const own = caller.may.has("read") ? await handleResources(parts.engines.handles, caller) : [];
    return [...(await sharedResources()), ...own];
  };

  const lists = async (): Promise<Readonly<Record<ListKind, string>>> => ({
    tools: fingerprint(listTools()),
    prompts: fingerprint(catalogue.prompts),
    resources: fingerprint([await sharedResources(), catalogue.templates]),
  });

  const unwatch = (): void => {
    for (const stop of stopWatching) stop();
    stopWatching = [];
  };

  const watchSidecars = (): void => {
    unwatch();
    if (updateListeners.size === 0) return;
    const { sidecars } = settings();
    const uris = sidecarResources(sidecars, parts.engines.files).map(({ uri }) => uri);
    stopWatching = sidecars.map((path, i) =>
      parts.watchFile(path, () => {
        for (const listener of updateListeners) listener(uris[i] ?? "");
      }),
    );
  };

  const refreshNow = async (): Promise<void> => {
    const before = await lists();
    await build();
    watchSidecars();
    const after = await lists();
    for (const kind of ["tools", "prompts", "resources"] as const) {
      if (before[kind] !== after[kind]) for (const listener of listeners) listener(kind);
    }
  };

  let refreshed: Promise<void> = build();
  await refreshed;

  const guard = createGuard({
    gate: createBoundedQueue(() => ({
      maxRunning: settings().maxConcurrent,
      maxWaiting: settings().maxQueued,
    })),
    observer,
    now,
  });
  const ports: Ports = { ...parts.engines, server: { health, metrics: parts.metrics, instructions } };
  const linuxPorts: Ports = { ...ports, ...parts.linux };
  const pipe = {
    settings,
    portsOf: (tool: string) => (tool.startsWith("linux_") ? linuxPorts : ports),
    guard,
  };
  const call = createCall({ ...pipe, catalogue: () => catalogue });
  const documents = createDocuments({
    catalogue: () => catalogue,
    resources,
    timeoutMs: () => settings().timeoutMs,
    guard,
    matchTemplate: parts.matchTemplate,
  });

  return {
    call,
    callInAnyMode: async (request) => {
      const offered = await catalogueOf("classic", request.tool).then(
        (one) => () => one,
        // Thrown inside the pipe: a module that cannot be loaded is answered and recorded like any failure of a tool.
        (error: unknown) => () => {
          throw error;
        },
      );
      return createCall({ ...pipe, catalogue: offered })(request);
    },
    serve: (name, origin, work, timeoutMs = settings().timeoutMs) =>
      guard.serve({ kind: name, input: () => "", origin, timeoutMs }, JSON.stringify, work),
    ...documents,
    listTools,
    preview: async (mode) =>
      (await catalogueOf(mode)).tools.map((tool) => publishTool(tool, { outputSchema: mode === "classic" })),
    prompts: () => catalogue.prompts,
    resources,
    templates: () => catalogue.templates,
    instructions,
    health,
    settings,
    sendsStructured,
    refresh: () => {
      // In turn: one that has more to load would otherwise end last, and put settings in force that are no more.
      refreshed = refreshed.then(refreshNow, refreshNow);
      return refreshed;
    },
    onListChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onResourceUpdated: (listener) => {
      updateListeners.add(listener);
      if (stopWatching.length === 0) watchSidecars();
      return () => {
        updateListeners.delete(listener);
        if (updateListeners.size === 0) unwatch();
      };
    },
    close: unwatch,
  };
};
