import type { Observer } from "../observe/observer.ts";
import type { ToolEntry } from "../tools/tool.ts";
import { type Catalogue, createCatalogue, NOTHING_REGISTERED, type Registered } from "./catalogue.ts";
import type { ModuleKit, ModuleSource } from "./custom-modules.ts";
import type { Mode, ModeSettings } from "./modes.ts";
import { publishTool } from "./publish.ts";

export interface RegistrySettings extends ModeSettings {
  readonly budgetWarningChars: number;
  /** Absolute path, or undefined for none. */
  readonly customModules: string | undefined;
}

interface RegistryParts {
  readonly settings: () => RegistrySettings;
  readonly tools: readonly ToolEntry[];
  readonly templates: Registered["templates"];
  readonly modules: ModuleSource;
  readonly jsonSchema: ModuleKit["jsonSchema"];
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

/** Built-in tools and custom modules, and the catalogue that the current mode makes of them. */
export const createRegistry = async (parts: RegistryParts) => {
  const { settings, log } = parts;
  const builtIn: Registered = { ...NOTHING_REGISTERED, tools: parts.tools, templates: parts.templates };
  let custom = NOTHING_REGISTERED;
  let untrusted: readonly string[] = [];

  const loadCustom = async (): Promise<Registered> => {
    const { customModules: folder } = settings();
    untrusted = [];
    if (folder === undefined) return NOTHING_REGISTERED;
    const { loadCustomModules } = await import("./custom-modules.ts");
    const { registered, failures } = await loadCustomModules(
      folder,
      parts.modules,
      parts.jsonSchema,
      builtIn,
    );
    for (const { file, reason } of failures) log.warn({ file, reason }, "custom module left out");
    untrusted = failures.filter(({ isUntrusted }) => isUntrusted).map(({ file }) => file);
    return registered;
  };

  /** The catalogue of any mode; with `only`, just the tool of that name is loaded. */
  const catalogueOf = (mode: Mode, only?: string): Promise<Catalogue> => {
    const { promotedTools, includeExecuteCode, withheldTools } = settings();
    return createCatalogue(builtIn, custom, { mode, promotedTools, includeExecuteCode, withheldTools }, only);
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
    /** Custom modules that wait for trust, by file. */
    untrusted: () => untrusted,
    catalogueOf,
    rebuild: async (): Promise<void> => {
      catalogue = await build();
    },
  };
};

export type Registry = Awaited<ReturnType<typeof createRegistry>>;
