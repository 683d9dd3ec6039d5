import { parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, locationIn, MAX_FAILURES, numberBefore, readLocation } from "./message.ts";

const TOTALS = /^Tests: {2}.*\d total/;
/** A file of the top folder has `./` before its name here, and not in the locations. */
const FILE = /^(?:FAIL|PASS) {1,2}(?:\.\/)?(\S.{0,1000}?)(?: \([\d.]+ m?s\))?$/;
const TITLE = /^ {2}● (.{1,2000})$/;
const LOCATION = /^\s+at (?:.{0,500}\()?([^\s()]{1,1000}:\d+:\d+)\)?$/;
const SOURCE = /^\s*(?:>\s*)?(?:\d+ )?(?<= )\|/;

const isOurs = (file: string): boolean => !file.startsWith("node:") && !file.includes("node_modules/");

const readFailure = (file: string, title: string, body: readonly string[]): TestFailure => {
  const locations = body
    .flatMap((line) => readLocation(LOCATION.exec(line)?.[1] ?? "") ?? [])
    .filter((location) => isOurs(location.file));
  const location = locationIn(file, locations, locations[0]);
  return {
    name: title,
    file: location?.file ?? (file === "" ? null : file),
    line: location?.line ?? null,
    message: clipMessage(body.filter((line) => !SOURCE.test(line) && !/^\s+at /.test(line))),
  };
};

/** jest; it writes all of it on the error stream, and many failures a second time at the end. */
export const parseJest = parserOf((lines) => {
  const totals = lines.findLast((line) => TOTALS.test(line));
  const suites = lines.findLast((line) => /^Test Suites: .*total/.test(line));
  if (totals === undefined || suites === undefined) return undefined;
  const failures = new Map<string, TestFailure>();
  let file = "";
  let broken = 0;
  for (let i = 0; i < lines.length && failures.size < MAX_FAILURES; i++) {
    file = FILE.exec(lines[i] ?? "")?.[1] ?? file;
    const title = TITLE.exec(lines[i] ?? "")?.[1];
    if (title === undefined || title.startsWith("Console")) continue;
    let end = i + 1;
    while (end < lines.length && !/^(?: {2}● |\S)/.test(lines[end] ?? "")) end++;
    const key = `${file}\n${title}`;
    if (!failures.has(key)) {
      if (title === "Test suite failed to run") broken++;
      failures.set(key, readFailure(file, title, lines.slice(i + 1, end)));
    }
    i = end - 1;
  }
  const of = (word: string): number => numberBefore(totals, word);
  const time = lines.findLast((line) => /^Time: /.test(line));
  return {
    runner: "jest",
    passed: of("passed"),
    failed: of("failed"),
    skipped: of("skipped") + of("todo"),
    errors: broken,
    failures: [...failures.values()],
    notes: [`suites: ${suites.replace(/^Test Suites:\s+/, "")}`, time?.replace(/^Time:\s+/, "") ?? ""],
  };
});
