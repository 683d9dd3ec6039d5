import { plural } from "../base/text.ts";
import { describeAs, type PolicyProblem, positionOf } from "../core/contract.ts";
import { green, type Io, red, table, yellow } from "./io.ts";

export interface CheckedPolicies {
  readonly files: readonly string[];
  readonly policies: readonly {
    readonly id: string;
    readonly effect: string;
    readonly file: string;
    readonly line: number;
    readonly waits: boolean;
  }[];
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
}

/** `llmc policy check`; false if a file has an error. */
export const showChecked = (
  checked: CheckedPolicies,
  io: Io,
  { json }: { readonly json: boolean },
): boolean => {
  const { files, policies, problems, warnings } = checked;
  const ok = problems.length === 0;
  if (json) {
    io.data(`${JSON.stringify({ ok, ...checked }, null, 2)}\n`);
    return ok;
  }
  for (const problem of problems) io.out(`${describeAs(red("error", io.hasColours), problem)}\n`);
  for (const warning of warnings) io.out(`${describeAs(yellow("warning", io.hasColours), warning)}\n`);
  if (policies.length > 0) {
    const rows = policies.map(({ id, effect, file, line, waits }) => [
      id,
      effect,
      `${positionOf({ file, line })}${waits ? "  waits for trust (llmc trust)" : ""}`,
    ]);
    io.out(`${table(rows)}\n`);
  }
  if (files.length === 0) io.out("There are no policy files: the defaults alone are in force.\n");
  else if (ok)
    io.out(`${plural(files.length, "file")}, ${plural(policies.length, "policy", "policies")}: no errors.\n`);
  return ok;
};

/** One decision, in the order in which a call meets them. */
export interface ExplainedDecision {
  readonly about: string;
  readonly outcome: "allow" | "ask" | "deny";
  /** Left out where policy is not asked. */
  readonly policies?: readonly { readonly id: string; readonly location: string }[];
  /** What that means for the caller, and what the operator can do. */
  readonly meaning: string;
}

const PAINT = { allow: green, ask: yellow, deny: red } as const;
const OUTCOMES = { allow: "allowed", ask: "the user is asked", deny: "refused" } as const;

/** `llmc policy explain`. */
export const showExplained = (
  decisions: readonly ExplainedDecision[],
  io: Io,
  { json }: { readonly json: boolean },
): void => {
  if (json) {
    io.data(`${JSON.stringify({ decisions }, null, 2)}\n`);
    return;
  }
  for (const { about, outcome, policies, meaning } of decisions) {
    io.out(`${about}: ${PAINT[outcome](OUTCOMES[outcome], io.hasColours)}\n`);
    for (const { id, location } of policies ?? []) io.out(`  by ${id} (${location})\n`);
    if (policies?.length === 0) io.out("  no policy permits it\n");
    io.out(`  ${meaning}\n`);
  }
};

export interface TestedCase {
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
  readonly policies: readonly string[];
}

/** `llmc policy test`; false if a case came out differently. */
export const showTested = (
  cases: readonly TestedCase[],
  io: Io,
  { json }: { readonly json: boolean },
): boolean => {
  const failed = cases.filter(({ expected, actual }) => expected !== actual);
  const ok = failed.length === 0;
  if (json) {
    io.data(`${JSON.stringify({ ok, cases: cases.length, failed }, null, 2)}\n`);
    return ok;
  }
  for (const { name, expected, actual, policies } of failed) {
    const by = policies.length === 0 ? "no policy permits it" : `by ${policies.join(", ")}`;
    io.out(`${red("FAIL", io.hasColours)}  ${name}: expected ${expected}, is ${actual} (${by})\n`);
  }
  io.out(
    ok
      ? `${plural(cases.length, "case")}, all as expected.\n`
      : `${failed.length} of ${plural(cases.length, "case")} failed.\n`,
  );
  return ok;
};
