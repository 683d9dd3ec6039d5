import type { CitedPassage, DocumentPart, Passage, PassageKey, PassageRange } from "./contract.ts";
import { FACTS, PASSAGE, POSITION, toFacts, toPassage, toPosition } from "./documents-queries.ts";
import { batchesOf, first, numberOf, type Query, rows, type SqlValue, textOf } from "./statements.ts";

/** Two values each. */
const KEYS_PER_STATEMENT = 200;

/** Exactly the passages that are asked for, found by the indexes of the tables, and without their texts. */
export function* readPositions(
  generation: number,
  keys: readonly PassageKey[],
): Query<readonly CitedPassage[]> {
  const found: CitedPassage[] = [];
  for (const batch of batchesOf(keys, KEYS_PER_STATEMENT)) {
    const asked = batch.map(() => "(CAST(? AS TEXT), CAST(? AS BIGINT))").join(", ");
    const cited = yield* rows(
      `WITH asked (doc_key, ordinal) AS (VALUES ${asked})
       SELECT ${POSITION}, ${FACTS} FROM asked
       JOIN kb_documents d ON d.doc_key = asked.doc_key
         AND d.collection = (SELECT collection FROM kb_generations WHERE id = ?)
       JOIN kb_members m ON m.document = d.id AND m.generation = ?
       JOIN kb_chunks c ON c.document = d.id AND c.ordinal = asked.ordinal`,
      ...batch.flatMap(({ key, ordinal }) => [key, ordinal]),
      generation,
      generation,
    );
    found.push(...cited.map((row) => ({ ...toPosition(row), document: toFacts(row) })));
  }
  return found;
}

/** Passages of the largest size that fill some hundred kilobytes. */
const PASSAGES_PER_STATEMENT = 50;

/** A condition on `c`, with its values. */
const within = (range: PassageRange | undefined): { readonly text: string; readonly values: SqlValue[] } => {
  if (range === undefined) return { text: "", values: [] };
  const { unit, first: from, last: to } = range;
  if (unit === "line")
    return {
      text: "AND c.start_line <= ? AND coalesce(c.end_line, c.start_line) >= ?",
      values: [to, from],
    };
  return { text: `AND c.${unit === "page" ? "page" : "ordinal"} BETWEEN ? AND ?`, values: [from, to] };
};

/** The passages of a range in their order, at least one, and no more than fit into `maxChars`. */
export function* readPart(
  generation: number,
  key: string,
  range: PassageRange | undefined,
  maxChars: number,
): Query<DocumentPart | undefined> {
  const member = yield* first(
    `SELECT d.id, d.chunks, ${FACTS} FROM kb_members m JOIN kb_documents d ON d.id = m.document
     WHERE m.generation = ? AND d.doc_key = ?`,
    generation,
    key,
  );
  if (member === undefined) return undefined;
  const id = numberOf(member, "id");
  const { text: condition, values } = within(range);
  const counted = yield* first(
    `SELECT count(*) AS wanted FROM kb_chunks c WHERE c.document = ? ${condition}`,
    id,
    ...values,
  );
  const wanted = numberOf(counted ?? {}, "wanted");
  const passages: Passage[] = [];
  let chars = 0;
  for (let after = -1; passages.length < wanted; ) {
    const batch = yield* rows(
      `SELECT ${PASSAGE} FROM kb_chunks c JOIN kb_documents d ON d.id = c.document
       WHERE c.document = ? AND c.ordinal > ? ${condition} ORDER BY c.ordinal LIMIT ${PASSAGES_PER_STATEMENT}`,
      id,
      after,
      ...values,
    );
    const full = batch.findIndex((row, at) => {
      chars += textOf(row, "text").length;
      return passages.length + at > 0 && chars > maxChars;
    });
    passages.push(...(full < 0 ? batch : batch.slice(0, full)).map(toPassage));
    if (full >= 0 || batch.length === 0) break;
    after = passages.at(-1)?.ordinal ?? after;
  }
  return { document: toFacts(member), chunks: numberOf(member, "chunks"), wanted, passages };
}
