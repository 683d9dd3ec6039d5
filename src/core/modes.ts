import type { MODES } from "./options.ts";

export type Mode = (typeof MODES)[number];

export interface ModeSettings {
  readonly mode: Mode;
  readonly promotedTools: readonly string[];
  readonly includeExecuteCode: boolean;
  /** Neither listed nor callable, in any mode: by name, what says so to the caller. */
  readonly withheldTools: Readonly<Record<string, string>>;
}

export interface ModeTools<T> {
  /** In the order of the catalogue. A listed tool is callable and is named in the instructions. */
  readonly listed: readonly T[];
  /** Configured names that match no tool. */
  readonly phantoms: readonly string[];
}

const ALWAYS = ["00_INIT", "read_file", "list_dir"];

const namesFor = ({ mode, promotedTools, includeExecuteCode }: ModeSettings): readonly string[] | "all" => {
  if (mode === "classic") return "all";
  if (mode === "code_execution") return [...ALWAYS, "execute_code", "search_tools"];
  return [...ALWAYS, ...promotedTools, ...(includeExecuteCode ? ["execute_code"] : [])];
};

/** Tools are published with underscores; a dotted name means the same tool (REQ-D1). */
export const canonicalName = (name: string): string =>
  name.includes(".") ? name.replaceAll(".", "_") : name;

export const toolsOfMode = <T extends { readonly name: string }>(
  settings: ModeSettings,
  all: readonly T[],
): ModeTools<T> => {
  const names = namesFor(settings);
  const isOffered = (name: string): boolean => !Object.hasOwn(settings.withheldTools, name);
  const offered = all.filter(({ name }) => isOffered(name));
  if (names === "all") return { listed: offered, phantoms: [] };
  const wanted = new Set(names.map(canonicalName).filter(isOffered));
  const listed = offered.filter(({ name }) => wanted.has(name));
  const present = new Set(listed.map(({ name }) => name));
  return { listed, phantoms: [...wanted].filter((name) => !present.has(name)) };
};
