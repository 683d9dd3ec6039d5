import { LlmcError, PROMOTED_TOOLS } from "../base/error.ts";
import { nearest, quoteForMessage } from "../base/text.ts";
import type { Prompt, Resource, ResourceTemplate } from "../tools/contract.ts";
import type { Tool, ToolEntry } from "../tools/tool.ts";
import { canonicalName, type ModeSettings, toolsOfMode } from "./modes.ts";

/** Everything that is registered, whatever the mode shows of it. */
export interface Registered {
  readonly tools: readonly ToolEntry[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
}

export const NOTHING_REGISTERED: Registered = { tools: [], prompts: [], resources: [], templates: [] };

/** What this mode offers. A new one is made whenever the configuration or the custom modules change. */
export interface Catalogue extends Omit<Registered, "tools"> {
  readonly settings: ModeSettings;
  readonly tools: readonly Tool[];
  /** Names of tools that exist, but not in this mode. */
  readonly unlisted: ReadonlySet<string>;
  readonly phantoms: readonly string[];
  find(name: string): Tool;
}

/** For a client; programs have a list of their own. */
export const TOOL_LISTS = "tools/list, or llmc tools, shows what there is.";

/** The way out of a name that no tool has. */
const hintFor = (close: string | undefined, untrusted: readonly string[]): string => {
  const first = close === undefined ? TOOL_LISTS : `Did you mean ${close}?`;
  if (untrusted.length === 0) return first;
  return `${first} Not in force until the user has looked at it and runs llmc trust: ${untrusted.join(", ")}.`;
};

/** A tool that there is, but not in this mode: the nearest name of the list would be another tool, which does something else. */
const refuseUnlisted = (name: string, { mode, withheldTools }: ModeSettings): LlmcError => {
  const withheld = Object.hasOwn(withheldTools, name) ? withheldTools[name] : undefined;
  return withheld === undefined
    ? new LlmcError("unknown_tool", `${name} exists, but is not listed in ${mode} mode.`, {
        hint: `The operator can offer ${name}: ${PROMOTED_TOOLS}.`,
      })
    : new LlmcError("unknown_tool", `${name} is switched off.`, { hint: withheld });
};

/**
 * The catalogue of a mode. With `only`, just the tool of that name is loaded. Aliases are known to their tools only, so
 * a name that matches no tool loads all of them.
 */
export const createCatalogue = async (
  builtIn: Registered,
  custom: Registered,
  settings: ModeSettings,
  {
    only,
    untrusted = [],
  }: {
    readonly only?: string | undefined;
    /** What brings tools, and waits for trust. */
    readonly untrusted?: readonly string[];
  } = {},
): Promise<Catalogue> => {
  const { listed, phantoms } = toolsOfMode(settings, [...builtIn.tools, ...custom.tools]);
  const names = new Set(listed.map(({ name }) => name));
  const unlisted = new Set(
    [...builtIn.tools, ...custom.tools].map(({ name }) => name).filter((name) => !names.has(name)),
  );
  const named =
    only === undefined ? [] : listed.filter(({ name }) => name === only || name === canonicalName(only));
  const tools = await Promise.all((named.length > 0 ? named : listed).map(({ load }) => load()));
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const byAlias = new Map(
    tools.flatMap((tool) => (tool.aliases ?? []).map((alias) => [alias, tool] as const)),
  );
  return {
    settings,
    tools,
    unlisted,
    phantoms,
    prompts: [...builtIn.prompts, ...custom.prompts],
    resources: [...builtIn.resources, ...custom.resources],
    templates: [...builtIn.templates, ...custom.templates],
    find: (name) => {
      const canonical = canonicalName(name);
      const tool = byName.get(name) ?? byName.get(canonical) ?? byAlias.get(canonical);
      if (tool !== undefined) return tool;
      if (unlisted.has(canonical)) throw refuseUnlisted(canonical, settings);
      const close = nearest(canonical, byName.keys());
      throw new LlmcError("unknown_tool", `There is no tool ${quoteForMessage(name)}.`, {
        hint: hintFor(close, untrusted),
      });
    },
  };
};
