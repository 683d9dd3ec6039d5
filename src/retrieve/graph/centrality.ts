import type { Names } from "./names.ts";
import { fileOf, type Table } from "./table.ts";

/** A file that few others name is not lifted by a name that many define. */
const MAX_DEFINERS = 3;
/** Names that most files mention say nothing about the one that defines them. */
const MAX_MENTIONS = 500;
/** Of the files, changed since: below it the old figures still serve. One edit in a large tree moves none of them by much. */
const STALE_SHARE = 0.01;
const ROUNDS = 12;
const DAMPING = 0.85;

/**
 * How much of the project rests on each file: PageRank over "imports" and, where a language imports nothing by name, over
 * "mentions a name that only that file defines". Computed at the first question after enough has changed.
 */
export const createCentrality = (table: Table, names: Names): ((path: string) => number) => {
  let scores: ReadonlyMap<string, number> = new Map();
  let computedAt = -1;

  const edges = (): ReadonlyMap<number, ReadonlySet<number>> => {
    const out = new Map<number, Set<number>>();
    const link = (from: number, to: number): void => {
      if (from === to) return;
      const known = out.get(from);
      if (known === undefined) out.set(from, new Set([to]));
      else known.add(to);
    };
    for (const file of table.files.values())
      for (const { source } of file.imports)
        if (source !== "") {
          const found = names.filesOf(file, source);
          if (found.length <= MAX_DEFINERS) for (const other of found) link(file.id, other);
        }
    for (const name of table.named.keys()) {
      const users = table.mentioning.get(name);
      if (users.length === 0 || users.length > MAX_MENTIONS || name.length < 4) continue;
      const definers = new Set<number>();
      for (const id of table.named.get(name)) {
        const definition = table.definition(id);
        if (definition !== undefined && definition.parent < 0) definers.add(fileOf(id));
      }
      if (definers.size === 0 || definers.size > MAX_DEFINERS) continue;
      for (const definer of definers) {
        const family = table.file(definer)?.family;
        if (family === "ecmascript" || family === "python" || family === "rust") continue;
        for (const user of users) if (table.file(user)?.family === family) link(user, definer);
      }
    }
    return out;
  };

  const compute = (): void => {
    const out = edges();
    const count = Math.max(1, table.files.size);
    let rank = new Map<number, number>();
    for (const id of table.files.keys()) rank.set(id, 1);
    for (let round = 0; round < ROUNDS; round++) {
      const next = new Map<number, number>();
      for (const id of table.files.keys()) next.set(id, 1 - DAMPING);
      for (const [from, targets] of out) {
        const share = (DAMPING * (rank.get(from) ?? 0)) / targets.size;
        for (const to of targets) next.set(to, (next.get(to) ?? 0) + share);
      }
      rank = next;
    }
    // On the scale of logarithms: otherwise one file of a large project has all of it.
    const least = 1 - DAMPING;
    let most = least;
    for (const value of rank.values()) if (value > most) most = value;
    const scale = Math.log(most / least);
    const found = new Map<string, number>();
    for (const [id, value] of rank)
      found.set(table.file(id)?.path ?? "", count < 2 || scale <= 0 ? 0 : Math.log(value / least) / scale);
    scores = found;
    computedAt = table.generation;
  };

  return (path) => {
    if (table.byPath(path) === undefined) return 0;
    const changes = table.generation - computedAt;
    if (computedAt < 0 || changes > table.files.size * STALE_SHARE) compute();
    return scores.get(path) ?? 0;
  };
};
