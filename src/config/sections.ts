import { isRecord } from "../base/is-record.ts";
import type { Option, Section, ValuesOf } from "../base/option.ts";
import { coreSections } from "../core/options.ts";
import { envelopeSections } from "../envelope/options.ts";
import { hostSections } from "../host/options.ts";
import { httpSections } from "../http/options.ts";
import { knowledgeSections } from "../knowledge/options.ts";
import { linkSections } from "../link/options.ts";
import { llmSections } from "../llm/options.ts";
import { mcpSections } from "../mcp/options.ts";
import { observeSections } from "../observe/options.ts";
import { retrieveSections } from "../retrieve/options.ts";
import { rlmSections } from "../rlm/options.ts";
import { sandboxSections } from "../sandbox/options.ts";

export const ROOM_SECTIONS: readonly Section[] = [
  ...coreSections,
  ...linkSections,
  ...httpSections,
  ...mcpSections,
  ...hostSections,
  ...observeSections,
  ...retrieveSections,
  ...knowledgeSections,
  ...envelopeSections,
  ...rlmSections,
  ...llmSections,
  ...sandboxSections,
];

const [general, hybrid, codeExecution, session, coreLimits, coreTools, security] = coreSections;
const [front, performance] = linkSections;
const [listener, auth, httpLimits] = httpSections;
const [resources, mcpLimits] = mcpSections;
const [hostTools, linuxRoots, handles, locks, audit] = hostSections;
const [observability, logging] = observeSections;
const [rag] = retrieveSections;
const [kb] = knowledgeSections;
const [te] = envelopeSections;
const [rlm] = rlmSections;
const [programs] = sandboxSections;
const [llm, llmRoles, llmEgress, airGap] = llmSections;

/**
 * Every section under its table, in the order that pages and listings show. A section's own `path` is plain text to the
 * compiler, so the paths are repeated here for the type below; a test holds the two equal and finds a section that is
 * missing.
 */
export const LAYOUT = {
  mcp: [general, front],
  "mcp.hybrid": [hybrid],
  "mcp.code_execution": [codeExecution, programs],
  "mcp.tools": [hostTools, coreTools],
  "mcp.linux_ops.roots": [linuxRoots],
  "mcp.limits": [coreLimits, httpLimits, mcpLimits],
  "mcp.handles": [handles],
  "mcp.locks": [locks],
  "mcp.session": [session],
  "mcp.server": [listener],
  "mcp.auth": [auth],
  "mcp.security": [airGap, security],
  "mcp.performance": [performance],
  "mcp.resources": [resources],
  "mcp.rag": [rag],
  "mcp.kb": [kb],
  "mcp.te": [te],
  "mcp.rlm": [rlm, llmEgress],
  "mcp.llm": [llm],
  "mcp.llm.roles": [llmRoles],
  "mcp.audit": [audit],
  "mcp.observability": [observability],
  "mcp.logging": [logging],
} as const satisfies Readonly<Record<string, readonly Section[]>>;

type Layout = typeof LAYOUT;
type Both<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
type Values<S> = S extends Section ? ValuesOf<S> : never;
type Nested<Path extends string, V> = Path extends `${infer Head}.${infer Rest}`
  ? { readonly [K in Head]: Nested<Rest, V> }
  : { readonly [K in Path]: V };
type Flat<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Flat<T[K]> }
    : T;

/** The whole configuration as rooms read it: `config.mcp.tools.allowed_roots`. */
export type Config = Flat<
  Both<{ [Path in keyof Layout]: Nested<Path, Both<Values<Layout[Path][number]>>> }[keyof Layout]>
>;

/** One key with everything that is derived from its table and name. */
export interface Entry {
  readonly key: string;
  readonly table: string;
  readonly name: string;
  readonly option: Option;
  readonly variable: string;
}

export interface Table {
  readonly path: string;
  readonly description: string;
  readonly entries: readonly Entry[];
}

export const VARIABLE_PREFIX = "LLMC_MCP_";

const entryOf = (table: string, name: string, option: Option): Entry => {
  const key = `${table}.${name}`;
  return { key, table, name, option, variable: `LLMC_${key.toUpperCase().replaceAll(".", "_")}` };
};

export const TABLES: readonly Table[] = Object.entries<readonly Section[]>(LAYOUT).map(
  ([path, sections]) => ({
    path,
    description: sections[0]?.description ?? "",
    entries: sections.flatMap((section) =>
      Object.entries(section.options).map(([name, option]) => entryOf(path, name, option)),
    ),
  }),
);

export const ENTRIES: ReadonlyMap<string, Entry> = new Map(
  TABLES.flatMap((table) => table.entries.map((entry) => [entry.key, entry] as const)),
);

export const valueAt = (config: Config, key: string): unknown =>
  key.split(".").reduce<unknown>((node, part) => (isRecord(node) ? node[part] : undefined), config);

const freeze = <T>(value: T): T => {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
};

/** Nests and freezes one checked value per key; a key without one gets its default. */
export const buildConfig = (values: ReadonlyMap<string, unknown>): Config => {
  const root: Record<string, unknown> = {};
  for (const { key, table, name, option } of ENTRIES.values()) {
    let node = root;
    for (const part of table.split(".")) {
      const next = node[part];
      const child = isRecord(next) ? next : {};
      node[part] = child;
      node = child;
    }
    node[name] = structuredClone(values.has(key) ? values.get(key) : option.default);
  }
  // The one place where the type is taken on trust: ENTRIES and Config come from the same LAYOUT.
  return freeze(root) as Config;
};
