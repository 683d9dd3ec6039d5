import { checkOpen } from "./collections-queries.ts";
import type { Claim, Claimed } from "./contract.ts";
import { first, numberOf, optionalText, type Query, rows, textOf } from "./statements.ts";

/** The row itself is the claim: it belongs to the run that inserted it, so no rows have to be locked or skipped. */
export function* takeClaim(generation: number, key: string, holder: string): Query<Claimed> {
  yield* checkOpen(generation);
  const known = yield* first(
    `SELECT d.id FROM kb_documents d JOIN kb_generations g ON g.collection = d.collection
     WHERE g.id = ? AND d.doc_key = ?`,
    generation,
    key,
  );
  if (known !== undefined) return "known";
  const own = yield* first(
    `INSERT INTO kb_claims (generation, doc_key, holder, beat) VALUES (?, ?, ?, 0)
     ON CONFLICT (generation, doc_key) DO UPDATE SET failure = NULL WHERE kb_claims.holder = excluded.holder
     RETURNING holder`,
    generation,
    key,
    holder,
  );
  return own === undefined ? "taken" : "own";
}

/** Shows the others that the holder is alive. */
export function* renewClaims(generation: number, holder: string): Query<void> {
  yield* rows("UPDATE kb_claims SET beat = beat + 1 WHERE generation = ? AND holder = ?", generation, holder);
}

export function* readClaims(generation: number, holder: string): Query<readonly Claim[]> {
  const found = yield* rows(
    "SELECT doc_key, holder, beat, failure FROM kb_claims WHERE generation = ? AND holder <> ?",
    generation,
    holder,
  );
  return found.map((row) => ({
    key: textOf(row, "doc_key"),
    holder: textOf(row, "holder"),
    beat: numberOf(row, "beat"),
    failure: optionalText(row, "failure"),
  }));
}

export function* failClaim(generation: number, key: string, holder: string, failure: string): Query<void> {
  yield* rows(
    "UPDATE kb_claims SET failure = ? WHERE generation = ? AND doc_key = ? AND holder = ?",
    failure,
    generation,
    key,
    holder,
  );
}

/** Only as it was seen: a holder that renewed it in the meantime keeps it. */
export function* dropClaim(generation: number, { key, holder, beat }: Claim): Query<void> {
  yield* rows(
    "DELETE FROM kb_claims WHERE generation = ? AND doc_key = ? AND holder = ? AND beat = ?",
    generation,
    key,
    holder,
    beat,
  );
}

export function* releaseClaims(generation: number, holder: string): Query<void> {
  yield* rows("DELETE FROM kb_claims WHERE generation = ? AND holder = ?", generation, holder);
}
