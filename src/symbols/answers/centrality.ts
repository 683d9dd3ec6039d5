import { fileOf, type Table } from "../project/table.ts";
import type { Names } from "../resolve/names.ts";

/** A name that more files define says nothing about any one of them. */
const MAX_DEFINERS = 3;
/** A name that more files mention says nothing about the file that defines it. */
const MAX_MENTIONS = 500;
const ROUNDS = 12;
const DAMPING = 0.85;

/** A long computation in small steps, so that its caller can do other work in between. */
export type InSteps<T> = Generator<undefined, T>;

/** Runs all steps at once. */
export const runSteps = <T>(steps: InSteps<T>): T => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};

type Links = ReadonlyMap<number, ReadonlySet<number>>;

/** Files link to those that they import and, where a language needs no imports, to the only definers of names they mention. */
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

/** PageRank. Every file starts with 1. */
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

/** How much of the project depends on each file, by path, from 0 to 1 for the most used file. */
export const createCentrality = (table: Table, names: Names) =>
  function* (): InSteps<ReadonlyMap<string, number>> {
    const links = yield* linksOf(table, names);
    const ids = [...table.files.keys()];
    const ranks = yield* ranksOf(ids, links);
    // On a logarithmic scale: otherwise one file of a large project would get nearly all of it.
    const lowest = 1 - DAMPING;
    let highest = lowest;
    for (const value of ranks.values()) if (value > highest) highest = value;
    const scale = Math.log(highest / lowest);
    const found = new Map<string, number>();
    for (const [id, value] of ranks)
      found.set(
        table.file(id)?.path ?? "",
        ids.length < 2 || scale <= 0 ? 0 : Math.log(value / lowest) / scale,
      );
    return found;
  };
