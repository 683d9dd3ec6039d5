import type { Observer } from "../observe/observer.ts";
import type { Tool, ToolEntry } from "../tools/tool.ts";
import { type Catalogue, createCatalogue, NOTHING_REGISTERED, type Registered } from "./catalogue.ts";
import type { Failure, ModuleKit, ModuleSource } from "./custom-modules.ts";
import type { ExecutableSource } from "./executables.ts";
import type { Mode, ModeSettings } from "./modes.ts";
import { publishTool } from "./publish.ts";

export interface RegistrySettings extends ModeSettings {
  readonly budgetWarningChars: number;
  /** Absolute path, or undefined for none. */
  readonly customModules: string | undefined;
  /** The same of scripts that become tools. */
  readonly executables: string | undefined;
}

/** A custom module or an executable that did not become tools. */
export interface LeftOutCode extends Failure {
  readonly kind: "custom module" | "executable";
}

interface RegistryParts {
  readonly settings: () => RegistrySettings;
  readonly tools: readonly ToolEntry[];
  readonly templates: Registered["templates"];
  readonly modules: ModuleSource;
  readonly executables: ExecutableSource;
  readonly jsonSchema: () => Promise<ModuleKit["jsonSchema"]>;
  readonly log: Observer["log"];
}

const warnAbout = (catalogue: Catalogue, budget: number, log: Observer["log"]): void => {
  if (catalogue.phantoms.length > 0) {
    log.warn({ tools: catalogue.phantoms }, "configured tools that do not exist are left out");
  }
  if (catalogue.settings.mode !== "hybrid") return;
  const schemas = catalogue.tools.map((tool) => publishTool(tool, { outputSchema: false }).inputSchema);
  const chars = JSON.stringify(schemas).length;
  if (chars > budget)
    log.warn({ chars, budget }, "the tool list is over mcp.hybrid.bootstrap_budget_warning");
};

const toEntry = (tool: Tool): ToolEntry => ({ name: tool.name, load: async () => tool });

/** Built-in tools, custom modules and executables, and the catalogue that the current mode makes of them. */
export const createRegistry = async (parts: RegistryParts) => {
  const { settings, log } = parts;
  const builtIn: Registered = { ...NOTHING_REGISTERED, tools: parts.tools, templates: parts.templates };
  let custom = NOTHING_REGISTERED;
  let leftOut: readonly LeftOutCode[] = [];

  const leaveOut = (kind: LeftOutCode["kind"], failures: readonly Failure[]): void => {
    for (const { file, reason } of failures) log.warn({ file, reason }, `${kind} left out`);
    leftOut = [...leftOut, ...failures.map((failure) => ({ ...failure, kind }))];
  };

  /** What waits for trust, as people call it. */
  const untrusted = (): readonly string[] =>
    leftOut
      .filter(({ isUntrusted }) => isUntrusted)
      .map(({ kind, file }) => (kind === "executable" ? "the folder of executables" : `the module ${file}`));

  const loadModules = async (): Promise<Registered> => {
    const { customModules: folder } = settings();
    if (folder === undefined) return NOTHING_REGISTERED;
    const { loadCustomModules } = await import("./custom-modules.ts");
    const { registered, failures } = await loadCustomModules(
      folder,
      parts.modules,
      await parts.jsonSchema(),
      builtIn,
    );
    leaveOut("custom module", failures);
    return registered;
  };

  /** Names that other tools have, also as aliases, which only a loaded tool tells. */
  const namesBeside = async ({ tools }: Registered): Promise<ReadonlySet<string>> => {
    const { takenNames } = await import("./custom-modules.ts");
    const loaded = await Promise.all([...builtIn.tools, ...tools].map(({ load }) => load()));
    return new Set([
      ...takenNames({ tools: loaded.map(toEntry) }),
      ...loaded.flatMap(({ aliases = [] }) => aliases),
    ]);
  };

  const loadScripts = async (modules: Registered): Promise<readonly ToolEntry[]> => {
    const { executables: folder } = settings();
    if (folder === undefined) return [];
    const { loadExecutables } = await import("./executables.ts");
    const taken = await namesBeside(modules);
    const { tools, failures } = await loadExecutables(
      folder,
      parts.executables,
      await parts.jsonSchema(),
      taken,
    );
    leaveOut("executable", failures);
    return tools.map(toEntry);
  };

  const loadCustom = async (): Promise<Registered> => {
    leftOut = [];
    const modules = await loadModules();
    return { ...modules, tools: [...modules.tools, ...(await loadScripts(modules))] };
  };

  /** The catalogue of any mode; with `only`, just the tool of that name is loaded. */
  const catalogueOf = (mode: Mode, only?: string): Promise<Catalogue> => {
    const { promotedTools, includeExecuteCode, withheldTools } = settings();
    const modeSettings = { mode, promotedTools, includeExecuteCode, withheldTools };
    return createCatalogue(builtIn, custom, modeSettings, { only, untrusted: untrusted() });
  };

  const build = async (): Promise<Catalogue> => {
    custom = await loadCustom();
    const { mode, budgetWarningChars } = settings();
    const built = await catalogueOf(mode);
    warnAbout(built, budgetWarningChars, log);
    return built;
  };

  let catalogue = await build();
  return {
    catalogue: () => catalogue,
    untrusted,
    leftOut: () => leftOut,
    catalogueOf,
    rebuild: async (): Promise<void> => {
      catalogue = await build();
    },
  };
};

export type Registry = Awaited<ReturnType<typeof createRegistry>>;
