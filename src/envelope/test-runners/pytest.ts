import { plural } from "../../base/text.ts";
import { NO_TESTS, parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, type Location, locationIn, MAX_FAILURES, numberBefore } from "./message.ts";

export const PYTEST_TOTALS =
  /^=* ?(?:no tests ran|\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)\b.{0,300}) in [\d.]+s\b/;
const SECTION = /^=+ (.{1,200}) =+$/;
const HEADING = /^_{2,} (.{1,1000}) _{2,}$/;
const SUMMARY = /^(FAILED|ERROR) (\S.{0,2000})$/;
const LOCATION =
  /^([^\s:][^:]{0,500}):(\d{1,9}):(?: ?$| in | [\w.]*(?:Error|Exception|Failed|Warning|Exit|Interrupt)\b)/;
const NATIVE_LOCATION = /^\s*File "([^"]{1,500})", line (\d{1,9}), in /;

const CAPTURED = /^-{2,} (Captured .{1,100}) -{2,}$/;

/** Names of the summary that are read: each is compared with every block. */
const MAX_NAMED = 2 * MAX_FAILURES;

interface Block {
  readonly heading: string;
  readonly lines: string[];
}

const locationsIn = (lines: readonly string[]): Location[] =>
  lines.flatMap((line) => {
    const found = LOCATION.exec(line) ?? NATIVE_LOCATION.exec(line);
    return found === null ? [] : [{ file: found[1] ?? "", line: Number(found[2]) }];
  });

/** Error lines start with E; without them (native tracebacks), the last lines hold the error. */
const messageIn = (lines: readonly string[]): string => {
  const complaint = lines
    .filter((line) => /^E(?: |$)/.test(line))
    .map((line) => line.replace(/^E {0,3}/, ""));
  if (complaint.length > 0) return clipMessage(complaint);
  const captured = lines.findIndex((line) => CAPTURED.test(line));
  return clipMessage((captured < 0 ? lines : lines.slice(0, captured)).slice(-3));
};

/** The last ones are nearest to the failure. */
const MAX_CAPTURED_LINES = 10;

/** What the test printed and logged: agents debug by printing. */
const capturedIn = (lines: readonly string[]): readonly string[] => {
  const sections: { readonly title: string; readonly lines: string[] }[] = [];
  for (const line of lines) {
    const title = CAPTURED.exec(line)?.[1];
    if (title !== undefined) sections.push({ title, lines: [] });
    else if (line !== "") sections.at(-1)?.lines.push(line);
  }
  return sections.flatMap(({ title, lines: own }) => {
    const omitted = own.length - MAX_CAPTURED_LINES;
    const shown = own.slice(-MAX_CAPTURED_LINES);
    return [`${title}:`, clipMessage(omitted > 0 ? [`[${omitted} lines left out]`, ...shown] : shown)];
  });
};

const readSections = (lines: readonly string[]) => {
  const blocks: Block[] = [];
  const named: { readonly id: string; readonly reason: string }[] = [];
  let section = "";
  for (const line of lines) {
    const title = SECTION.exec(line)?.[1];
    if (title !== undefined) {
      section = title;
      continue;
    }
    const isDetail = section === "FAILURES" || section === "ERRORS";
    const heading = isDetail ? HEADING.exec(line)?.[1] : undefined;
    if (heading !== undefined) blocks.push({ heading, lines: [] });
    else if (isDetail) blocks.at(-1)?.lines.push(line);
    const summary = isDetail ? undefined : SUMMARY.exec(line)?.[2];
    const isSummary = section === "short test summary info" || section === "";
    if (summary !== undefined && isSummary && named.length < MAX_NAMED) {
      const dash = summary.indexOf(" - ");
      const id = dash < 0 ? summary : summary.slice(0, dash);
      // Progress of -v is `path::test FAILED`, so a line that begins with the word is the summary's.
      named.push({ id, reason: dash < 0 ? "" : summary.slice(dash + 3) });
    }
  }
  return { blocks, named };
};

const bareName = (heading: string): string =>
  heading.replace(/^ERROR (?:at (?:setup|teardown) of|collecting) /, "");

const fileOf = (id: string): string => id.split("::", 1)[0] ?? id;

/** `TestC.test_deep[1]` of `tests/test_a.py::TestC::test_deep[1]`, as a heading names it. */
const headingOf = (id: string): string =>
  id.includes("::") ? id.slice(id.indexOf("::") + 2).replaceAll("::", ".") : id;

/** A heading does not name the file: of tests with the same name, the one whose file the traceback goes through. */
const takeId = (name: string, locations: readonly Location[], left: string[]): string | undefined => {
  const sameName = left.filter((id) => headingOf(id) === name);
  const id = sameName.find((each) => locationIn(fileOf(each), locations) !== undefined) ?? sameName[0];
  if (id !== undefined) left.splice(left.indexOf(id), 1);
  return id;
};

/** `left` are the ids of the summary that no block has taken yet. */
const readBlock = ({ heading, lines }: Block, left: string[]): TestFailure => {
  const name = bareName(heading);
  const locations = locationsIn(lines);
  const id = takeId(name, locations, left);
  const ownFile =
    id?.includes("::") === true ? fileOf(id) : heading.startsWith("ERROR collecting") ? name : undefined;
  // Where the test itself was when it failed; what it called may lie anywhere. File and line are always of one place.
  const own = ownFile === undefined ? undefined : locationIn(ownFile, locations.toReversed());
  const location = own ?? locations.at(-1);
  return {
    name: id ?? name,
    file: (own === undefined ? location?.file : ownFile) ?? ownFile ?? null,
    line: location?.line ?? null,
    message: [messageIn(lines), ...capturedIn(lines)].join("\n"),
  };
};

/** pytest, with any kind of traceback. */
export const parsePytest = parserOf((lines) => {
  const totals = lines.findLast((line) => PYTEST_TOTALS.test(line));
  if (totals === undefined) return undefined;
  const { blocks, named } = readSections(lines);
  const left = named.map(({ id }) => id);
  const detailed = blocks.slice(0, MAX_FAILURES).map((block) => readBlock(block, left));
  const others = named
    .filter(({ id }) => left.includes(id))
    .slice(0, MAX_FAILURES)
    .map(({ id, reason }) => ({ name: id, file: fileOf(id), line: null, message: reason }));
  const xpassed = numberBefore(totals, "xpassed");
  const xfailed = numberBefore(totals, "xfailed");
  const deselected = numberBefore(totals, "deselected");
  const warnings = numberBefore(totals, "warnings?");
  return {
    runner: "pytest",
    passed: numberBefore(totals, "passed"),
    failed: numberBefore(totals, "failed"),
    skipped: numberBefore(totals, "skipped"),
    errors: numberBefore(totals, "errors?"),
    failures: [...detailed, ...others],
    notes: [
      ...(xfailed > 0 ? [`${xfailed} xfailed`] : []),
      ...(xpassed > 0 ? [`${xpassed} xpassed`] : []),
      ...(deselected > 0 ? [`${deselected} deselected`] : []),
      ...(warnings > 0 ? [plural(warnings, "warning")] : []),
      ...(totals.includes(NO_TESTS) ? [NO_TESTS] : []),
      /in ([\d.]+s)/.exec(totals)?.[1] ?? "",
    ],
  };
});
