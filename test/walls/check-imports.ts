import { dirname } from "node:path";
import { localTarget, roomOfPath, type Source } from "./source.ts";
import { MACHINE_ROOMS, PURE_NODE_MODULES, type WallTable, WIRING } from "./table.ts";

/** Imports of our own files that the table does not allow, rooms that it does not name included. */
export const importsOutsideTable = (sources: readonly Source[], table: WallTable): string[] =>
  sources.flatMap(({ path, room, imports }) => {
    if (room === WIRING) return [];
    const allowed = table.mayImport[room];
    if (allowed === undefined) return [`${path}: the room ${room} is not in the table`];
    return imports.flatMap(({ target, typeOnly }) => {
      const local = localTarget(path, target);
      if (local === undefined) return [];
      const to = roomOfPath(local);
      if (to === room || allowed.includes(to)) return [];
      if (room === "tools" && typeOnly && table.typesForTools.includes(to)) return [];
      if (room === "config" && local.endsWith("/options.ts")) return [];
      return [`${path} imports ${local}`];
    });
  });

/** `node:` modules and npm packages that the room's lists do not name. Types reach nothing. */
export const modulesOutsideTable = (sources: readonly Source[], table: WallTable): string[] =>
  sources.flatMap(({ path, room, imports }) =>
    imports
      .filter(({ target, typeOnly }) => !typeOnly && !target.startsWith("."))
      .filter(({ target }) => {
        if (target.startsWith("node:")) {
          const isPure = PURE_NODE_MODULES.includes(target);
          return !isPure && !MACHINE_ROOMS.includes(room) && !table.nodeModules[room]?.includes(target);
        }
        const name = target.split("/", target.startsWith("@") ? 2 : 1).join("/");
        return !table.packages[room]?.includes(name);
      })
      .map(({ target }) => `${path} imports ${target}`),
  );

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Groups of nodes that reach each other (Tarjan). */
const cyclesOf = (graph: Graph): string[][] => {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const lower = (node: string, value: number): void => {
    low.set(node, Math.min(low.get(node) ?? value, value));
  };
  const visit = (node: string): void => {
    index.set(node, index.size);
    lower(node, index.size - 1);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) {
        visit(next);
        lower(node, low.get(next) ?? 0);
      } else if (stack.includes(next)) lower(node, index.get(next) ?? 0);
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1 || graph.get(node)?.has(node) === true) groups.push(group);
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return groups;
};

const graphOf = (sources: readonly Source[], nameOf: (path: string) => string): Graph => {
  const graph = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    const from = nameOf(path);
    const edges = graph.get(from) ?? new Set();
    graph.set(from, edges);
    for (const { target } of imports) {
      const local = localTarget(path, target);
      if (local !== undefined) edges.add(nameOf(local));
    }
  }
  return graph;
};

export const fileCycles = (sources: readonly Source[]): string[] =>
  cyclesOf(graphOf(sources, (path) => path)).map((group) => `cycle of files: ${group.toSorted().join(", ")}`);

/** Imports between folders that depend on each other. Types count, and a room's top folder is a folder. */
export const folderCycles = (sources: readonly Source[]): string[] => {
  const graph = graphOf(sources, dirname);
  const withoutOwn = new Map(
    [...graph].map(([from, to]) => [from, new Set([...to].filter((one) => one !== from))]),
  );
  return cyclesOf(withoutOwn).flatMap((group) =>
    sources.flatMap(({ path, imports }) =>
      imports.flatMap(({ target }) => {
        const local = localTarget(path, target);
        if (local === undefined || dirname(local) === dirname(path)) return [];
        return group.includes(dirname(path)) && group.includes(dirname(local))
          ? [`cycle of folders: ${path} imports ${local}`]
          : [];
      }),
    ),
  );
};
