import { fileOf, type Table } from "../project/table.ts";
import type { Names } from "../resolve/names.ts";

/** A file that few others name is not lifted by a name that many define. */
const MAX_DEFINERS = 3;
/** Names that most files mention say nothing about the one that defines them. */
const MAX_MENTIONS = 500;
const ROUNDS = 12;
const DAMPING = 0.85;

/** A long computation in small steps: whoever runs it may do something else between any two. */
export type InSteps<T> = Generator<undefined, T>;

/** All steps at once. */
export const runSteps = <T>(steps: InSteps<T>): T => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};

type Links = ReadonlyMap<number, ReadonlySet<number>>;

/** "imports" and, where a language imports nothing by name, "mentions a name that only that file defines". */
const linksOf = function* (table: Table, names: Names): InSteps<Links> {
  const out = new Map<number, Set<number>>();
  const link = (from: number, to: number): void => {
    if (from === to) return;
    const known = out.get(from);
    if (known === undefined) out.set(from, new Set([to]));
    else known.add(to);
  };
  for (const file of table.files.values()) {
    for (const { source } of file.imports)
      if (source !== "") {
        const found = names.filesOf(file, source);
        if (found.length <= MAX_DEFINERS) for (const other of found) link(file.id, other);
      }
    yield;
  }
  for (const name of table.named.keys()) {
    yield;
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
      if (family?.reach === "file") continue;
      for (const user of users) if (table.file(user)?.family === family) link(user, definer);
    }
  }
  return out;
};

/** PageRank, in which every file begins with 1. */
const ranksOf = function* (ids: readonly number[], links: Links): InSteps<ReadonlyMap<number, number>> {
  let rank = new Map(ids.map((id) => [id, 1]));
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Map(ids.map((id) => [id, 1 - DAMPING]));
    for (const [from, targets] of links) {
      const share = (DAMPING * (rank.get(from) ?? 0)) / targets.size;
      for (const to of targets) next.set(to, (next.get(to) ?? 0) + share);
    }
    rank = next;
    yield;
  }
  return rank;
};

/** How much of the project rests on each file, by path: 0 to 1, the most used file has 1. */
export const createCentrality = (table: Table, names: Names) =>
  function* (): InSteps<ReadonlyMap<string, number>> {
    const links = yield* linksOf(table, names);
    const ids = [...table.files.keys()];
    const ranks = yield* ranksOf(ids, links);
    // On the scale of logarithms: otherwise one file of a large project has all of it.
    const least = 1 - DAMPING;
    let most = least;
    for (const value of ranks.values()) if (value > most) most = value;
    const scale = Math.log(most / least);
    const found = new Map<string, number>();
    for (const [id, value] of ranks)
      found.set(
        table.file(id)?.path ?? "",
        ids.length < 2 || scale <= 0 ? 0 : Math.log(value / least) / scale,
      );
    return found;
  };
