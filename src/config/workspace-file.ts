import { resolve } from "node:path";
import { isInside } from "../base/paths.ts";
import type { Setting } from "./layer.ts";
import type { LoadRequest } from "./load-request.ts";
import { decide, isSame, type PathContext } from "./narrow.ts";
import { ENTRIES } from "./sections.ts";
import type { TrustRecord } from "./trust-record.ts";
import type { Waiting } from "./waiting.ts";

/** What trusting a file grants, by key, including what was granted before. */
export interface Widening {
  readonly key: string;
  readonly without: unknown;
  readonly asked: unknown;
  /** As a record keeps it. */
  readonly grant: TrustRecord["values"][string];
}

/** A file that is in the workspace, or that somebody with write access to it could have written. */
export interface WorkspaceFile {
  readonly widening: readonly Widening[];
  /** What would be in force without the file. */
  valueWithout(key: string): unknown;
}

interface Judged {
  readonly settings: ReadonlyMap<string, Setting>;
  readonly waiting: readonly Waiting[];
  readonly workspaceFile: WorkspaceFile | undefined;
}

/** The configuration without the file: the layers below and above it. */
interface Around {
  readonly user: ReadonlyMap<string, Setting>;
  readonly above: ReadonlyMap<string, Setting>;
}

const ROOTS = "mcp.tools.allowed_roots";
const LINUX_ROOTS = "mcp.linux_ops.roots.allowed_roots";
const ENFORCE_ROOTS = "mcp.linux_ops.roots.enforce_roots";

const valueWithout = (key: string, { user, above }: Around): unknown =>
  (above.get(key) ?? user.get(key))?.value ?? ENTRIES.get(key)?.option.default;

/** Some keys say nothing unless they are set: then another one is in force. */
const baseOf = (key: string, around: Around): unknown => {
  const isSet = around.user.has(key) || around.above.has(key);
  if (key === LINUX_ROOTS && valueWithout(key, around) === null) return valueWithout(ROOTS, around);
  if (key === "mcp.logging.level" && !isSet) return valueWithout("mcp.observability.log_level", around);
  if (key === "mcp.logging.structured_output" && !isSet) {
    return valueWithout("mcp.observability.log_format", around) === "json";
  }
  return valueWithout(key, around);
};

const pathContextFor = (
  { disk, root }: LoadRequest,
  written: readonly (readonly unknown[])[],
): PathContext => {
  const all = [...new Set(written.flat().map(String))];
  const real = new Map(all.map((item) => [item, disk.realOrFuture(resolve(root, item))] as const));
  return { workspace: root, realOf: (item) => real.get(item) ?? resolve(root, item) };
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * Whether only the operator can have written the file, because it is outside everything that callers can reach without
 * it.
 */
const isOperators = async (request: LoadRequest, path: string, around: Around): Promise<boolean> => {
  if (request.configPath === undefined) return false;
  const everywhere = valueWithout(ENFORCE_ROOTS, around) === false ? ["/"] : [];
  const roots = [
    ".",
    ...everywhere,
    ...listOf(valueWithout(ROOTS, around)),
    ...listOf(baseOf(LINUX_ROOTS, around)),
  ];
  const { realOf } = pathContextFor(request, [roots, [path]]);
  const zones = roots.flatMap((item) => [realOf(String(item)), resolve(request.root, String(item))]);
  return !zones.some((zone) => isInside(path, zone) || isInside(realOf(path), zone));
};

/** What is in force of a file: all that the operator's own says, and of a workspace's what narrows or was granted. */
export const judgeFile = async (
  request: LoadRequest,
  path: string,
  asked: ReadonlyMap<string, Setting>,
  record: TrustRecord | undefined,
  around: Around,
): Promise<Judged> => {
  if (await isOperators(request, path, around))
    return { settings: asked, waiting: [], workspaceFile: undefined };
  const paths = pathContextFor(request, [
    listOf(valueWithout(ROOTS, around)),
    listOf(baseOf(LINUX_ROOTS, around)),
    ...[...asked].flatMap(([key, { value }]) => (ENTRIES.get(key)?.option.path ? [listOf(value)] : [])),
  ]);
  const settings = new Map<string, Setting>();
  const waiting: Waiting[] = [];
  const widening: Widening[] = [];
  for (const [key, setting] of asked) {
    const option = ENTRIES.get(key)?.option;
    if (option === undefined || around.above.has(key)) continue;
    const base = baseOf(key, around);
    const { grant } = decide(option, base, setting.value, undefined, paths);
    if (grant !== undefined) {
      widening.push({ key, without: base, asked: setting.value, grant: grant as Widening["grant"] });
    }
    const { inForce, waits, grant: items } = decide(option, base, setting.value, record?.values[key], paths);
    if (waits !== undefined) waiting.push({ key, items, asked: setting.value, inForce });
    // If both say the same, the value keeps the operator as its origin.
    const isRedundant = isSame(inForce, base) && (waits !== undefined || around.user.has(key));
    if (!isRedundant) settings.set(key, { ...setting, value: inForce });
  }
  return {
    settings,
    waiting,
    workspaceFile: { widening, valueWithout: (key) => valueWithout(key, around) },
  };
};
