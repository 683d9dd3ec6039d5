import { parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, MAX_FAILURES, numberBefore, readLocation } from "./message.ts";

const RESULT = /^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;/;
const NEXTEST = /^\s*Summary \[\s*[\d.]+s\] .*\d tests? run: /;
const BLOCK = /^---- (\S.{0,1000}?) stdout ----$/;
const NEXTEST_BLOCK = /^\s*--- STD(?:OUT|ERR): +(\S.{0,1000}?) ---$/;
const PANIC = /^panicked at (?:'(.{0,2000})', )?([^\s,]{1,1000}:\d+:\d+):?$/;
const COMPILE_ERROR = /^error(?:\[E\d{4}\])?: (.{1,2000})$/;
/** The last ones are nearest to the failure. */
const MAX_PRINTED_LINES = 6;

const readPanic = (name: string, body: readonly string[]): TestFailure => {
  const panics = body.map((line) => PANIC.exec(line.slice(Math.max(0, line.indexOf("panicked at ")))));
  const at = panics.findIndex((each) => each !== null);
  const panic = panics[at] ?? null;
  const location = readLocation(panic?.[2] ?? "");
  const rest = body.slice(at + 1);
  const end = rest.findIndex((line) => /^(?:stack backtrace:|note: )/.test(line));
  const printed = at < 0 ? [] : body.slice(0, at);
  const message = panic?.[1] === undefined ? [] : [panic[1]];
  return {
    name,
    file: location?.file ?? null,
    line: location?.line ?? null,
    // What it printed before comes last: the panic says what is wrong.
    message: clipMessage([
      ...message,
      ...(end < 0 ? rest : rest.slice(0, end)),
      ...printed.slice(-MAX_PRINTED_LINES),
    ]),
  };
};

const readFailures = (lines: readonly string[]): TestFailure[] => {
  const failures = new Map<string, TestFailure>();
  for (let i = 0; i < lines.length && failures.size < MAX_FAILURES; i++) {
    const plain = BLOCK.exec(lines[i] ?? "")?.[1];
    const name = plain ?? NEXTEST_BLOCK.exec(lines[i] ?? "")?.[1];
    if (name === undefined) continue;
    let end = i + 1;
    while (
      end < lines.length &&
      !/^(?:---- |failures:$|test result: |\s*--- STD|\s*Summary \[)/.test(lines[end] ?? "")
    )
      end++;
    const failure = readPanic(name, lines.slice(i + 1, end));
    // Tests of several binaries may have the same name; nextest prints both streams of one test.
    const key = plain === undefined ? name : `${i} ${name}`;
    if (failures.get(key)?.line == null) failures.set(key, failure);
    i = end - 1;
  }
  return [...failures.values()];
};

/** Code that does not compile: `error[E0308]: mismatched types`, the location on the line after it. */
const readCompileErrors = (lines: readonly string[]): TestFailure[] =>
  lines.flatMap((line, at) => {
    const message = COMPILE_ERROR.exec(line)?.[1];
    const arrow = /^\s*--> (\S{1,1000})$/.exec(lines[at + 1] ?? "")?.[1];
    const location = readLocation(arrow ?? "");
    if (message === undefined || location === undefined) return [];
    return [
      { name: "does not compile", file: location.file, line: location.line, message: clipMessage([line]) },
    ];
  });

/** `cargo test` and `cargo nextest run`; a workspace has several results, which are added up. */
export const parseCargo = parserOf((lines) => {
  const results = lines.flatMap((line) => RESULT.exec(line) ?? []);
  const totals = lines.flatMap((line) => {
    const found = RESULT.exec(line);
    return found === null ? [] : [found.slice(1, 4).map(Number)];
  });
  const summary = lines.findLast((line) => NEXTEST.test(line));
  const errors = readCompileErrors(lines);
  if (results.length === 0 && summary === undefined && errors.length === 0) return undefined;
  const sum = (column: number): number => totals.reduce((all, row) => all + (row[column] ?? 0), 0);
  const of = (word: string): number => (summary === undefined ? 0 : numberBefore(summary, word));
  return {
    runner: "cargo",
    passed: sum(0) + of("passed"),
    failed: sum(1) + of("failed"),
    skipped: sum(2) + of("skipped"),
    errors: errors.length,
    failures: [...errors, ...readFailures(lines)],
    notes: totals.length > 1 ? [`${totals.length} test binaries`] : [],
  };
});
