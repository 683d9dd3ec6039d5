import { collectionId, collectionOf, noCollection } from "./collections-queries.ts";
import type { EvalQuestion } from "./contract.ts";
import { first, jsonOf, type Query, rows } from "./statements.ts";

/** Those that came with the pack of a generation. */
function* packedQuestions(generation: number): Query<readonly EvalQuestion[]> {
  const row = yield* first("SELECT questions FROM kb_imports WHERE generation = ?", generation);
  return row === undefined ? [] : jsonOf<readonly EvalQuestion[]>(row, "questions");
}

export function* readQuestions(name: string, generation?: number): Query<readonly EvalQuestion[]> {
  const row = yield* first("SELECT questions FROM kb_collections WHERE name = ?", name);
  if (row === undefined) throw noCollection(name);
  const own = jsonOf<readonly EvalQuestion[]>(row, "questions");
  return own.length > 0 || generation === undefined ? own : yield* packedQuestions(generation);
}

/** Of a generation that is promoted: a collection that has its own keeps them. */
export function* adoptQuestions(generation: number): Query<void> {
  const packed = yield* packedQuestions(generation);
  if (packed.length === 0) return;
  yield* rows(
    "UPDATE kb_collections SET questions = ? WHERE id = ? AND questions = '[]'",
    JSON.stringify(packed),
    yield* collectionOf(generation),
  );
}

export function* saveQuestions(name: string, questions: readonly EvalQuestion[]): Query<void> {
  const id = yield* collectionId(name);
  yield* rows("UPDATE kb_collections SET questions = ? WHERE id = ?", JSON.stringify(questions), id);
}
