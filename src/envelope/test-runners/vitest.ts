import { parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, locationIn, MAX_FAILURES, numberBefore, readLocation } from "./message.ts";

const TOTALS = /^\s*Tests\s+(?:\d+ \w|no tests.*\d)/;
const FAIL = /^\s*FAIL\s{1,4}(\S.{0,2000})$/;
const LOCATION = /^\s*❯ (?:.{0,500}\s)?\(?([^\s()]{1,1000}:\d+:\d+)\)?$/;
/** Rules between failures, and lines of source with their numbers. */
const RULE = /^⎯{5,}/;
const SOURCE = /^\s*(?:\d+\s*)?\|/;

/** Of one failure, what is read at most. */
const MAX_BODY_LINES = 200;

const readFailure = (title: string, body: readonly string[]): TestFailure => {
  // A project's name stands in front, between bars; of a file that does not load the name is written twice.
  const bare = title.replace(/^\|[^|]{0,100}\| /, "").replace(/ \[ .{0,1000} \]$/, "");
  const [file = "", ...names] = bare.split(" > ");
  const locations = body.flatMap((line) => readLocation(LOCATION.exec(line)?.[1] ?? "") ?? []);
  const location = locationIn(file, locations, locations[0]);
  return {
    name: names.join(" > ") || file,
    file: location?.file ?? file,
    line: location?.line ?? null,
    message: clipMessage(
      body.filter(
        (line) => !LOCATION.test(line) && !SOURCE.test(line) && !/^(?:Serialized Error:|\s*FAIL )/.test(line),
      ),
    ),
  };
};

const readFailures = (lines: readonly string[]): TestFailure[] => {
  const failures: TestFailure[] = [];
  for (let i = 0; i < lines.length && failures.length < MAX_FAILURES; i++) {
    const title = FAIL.exec(lines[i] ?? "")?.[1];
    if (title === undefined) continue;
    let end = i + 1;
    while (end < lines.length && !RULE.test(lines[end] ?? "") && !FAIL.test(lines[end] ?? "")) end++;
    // Tests that failed in the same way share the text after the last of them.
    let until = end;
    while (until < Math.min(lines.length, i + MAX_BODY_LINES) && !RULE.test(lines[until] ?? "")) until++;
    const body = lines.slice(i + 1, end);
    failures.push(
      readFailure(title, body.every((line) => line.trim() === "") ? lines.slice(i + 1, until) : body),
    );
    i = end - 1;
  }
  return failures;
};

/** vitest, default and verbose reporters; failures come on the error stream. */
export const parseVitest = parserOf((lines) => {
  const totals = lines.findLast((line) => TOTALS.test(line));
  const files = lines.findLast((line) => /^\s*Test Files\s+\d/.test(line));
  if (files === undefined) return undefined;
  const suites = lines.findLast((line) => /^⎯+ Failed Suites \d+ ⎯/.test(line));
  const unhandled = lines.findLast((line) => /^\s*Errors\s+\d+ errors?/.test(line));
  const of = (word: string): number => numberBefore(totals ?? "", word);
  const duration = /^\s*Duration\s+(\S{1,20})/.exec(
    lines.findLast((line) => /^\s*Duration\s/.test(line)) ?? "",
  );
  return {
    runner: "vitest",
    passed: of("passed"),
    failed: of("failed"),
    skipped: of("skipped") + of("todo"),
    errors:
      Number(/Failed Suites (\d+)/.exec(suites ?? "")?.[1] ?? 0) + numberBefore(unhandled ?? "", "errors?"),
    failures: readFailures(lines),
    notes: [`files: ${files.replace(/^\s*Test Files\s+/, "")}`, duration?.[1] ?? ""],
  };
});
