import { boundedLines, type ParseTests, parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, locationIn, MAX_FAILURES, readLocation } from "./message.ts";

/** Both reporters end with the same totals: `ℹ pass 2` and `# pass 2`. */
const totalOf = (lines: readonly string[], word: string): number | undefined => {
  const line = lines.findLast((each) => each.startsWith(`ℹ ${word} `) || each.startsWith(`# ${word} `));
  const count = Number(line?.slice(word.length + 3));
  return line === undefined || Number.isNaN(count) ? undefined : count;
};

const TITLE = /^\s*✖ (.{1,2000}?) \([\d.]+ms\)/;
const FRAME = /^\s+at (?:.{0,500}\()?((?:file:\/\/)?[^\s():][^\s()]{0,1000}:\d+:\d+)\)?(?: \{)?$/;

/** What the runner says of a file that never came to its tests; the reason stands where the file was run. */
const isUnexplained = (message: string): boolean => /^'?test failed'?$/.test(message.trim());

const RESULT = /^\s*(?:[✔✖▶﹣ℹ] |ok \d|not ok \d|# Subtest: )/;
const THROWN = /^(?:Uncaught )?[\w.$]{0,200}(?:Error|Exception)\b.{0,100}?(?::|$)/;
/** Files that fail to load say so in far fewer. */
const MAX_CRASH_LINES = 200;

/** The error that a file wrote before the line with its result, or the last lines before it. */
const crashBefore = (lines: readonly string[], result: number): readonly string[] => {
  let start = result;
  while (start > 0 && result - start < MAX_CRASH_LINES && !RESULT.test(lines[start - 1] ?? "")) start--;
  const written = lines.slice(start, result).map((line) => line.replace(/^# ?/, ""));
  const thrown = written.findLastIndex((line) => THROWN.test(line));
  if (thrown < 0) return written.filter((line) => line !== "" && !/^Node\.js v\d/.test(line)).slice(-5);
  const error = written.slice(thrown);
  const stack = error.findIndex((line) => /^\s+at /.test(line));
  return stack < 0 ? error.slice(0, 5) : error.slice(0, stack);
};

const causeOf = (message: string, lines: readonly string[], result: number): string => {
  if (!isUnexplained(message) || result < 0) return message;
  return clipMessage(crashBefore(lines, result)) || message;
};

const messageOf = (body: readonly string[]): string => {
  const stack = body.findIndex((line) => /^\s+at /.test(line));
  return clipMessage(stack < 0 ? body : body.slice(0, stack));
};

/** Reporters without that detail: the error stands below the result, further in than it. A suite has none of its own. */
const readInline = (lines: readonly string[]): TestFailure[] => {
  const failures: TestFailure[] = [];
  for (const [at, line] of lines.entries()) {
    const name = TITLE.exec(line)?.[1];
    if (name === undefined || failures.length >= MAX_FAILURES) continue;
    let end = at + 1;
    while (end < lines.length && end - at <= MAX_CRASH_LINES && /^\s+\S|^$/.test(lines[end] ?? "")) {
      if (RESULT.test(lines[end] ?? "")) break;
      end++;
    }
    const body = lines.slice(at + 1, end);
    const message = messageOf(body);
    if (message === "") continue;
    const frames = body.flatMap((each) => readLocation(FRAME.exec(each)?.[1] ?? "") ?? []);
    const own = frames.find(({ file }) => !/^node:|node_modules\//.test(file));
    failures.push({ name, file: own?.file ?? null, line: own?.line ?? null, message });
  }
  return failures;
};

/** The detail at the end of the spec reporter: `test at FILE:LINE:COL`, the name, then the error as it was thrown. */
const readSpec = (lines: readonly string[]): TestFailure[] => {
  const start = lines.findLastIndex((line) => /^✖ failing tests:/.test(line));
  if (start < 0) return readInline(lines);
  const failures: TestFailure[] = [];
  const results = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    const title = TITLE.exec(line)?.[1];
    if (title !== undefined && !results.has(title)) results.set(title, at);
  }
  for (let i = start + 1; i < lines.length && failures.length < MAX_FAILURES; i++) {
    const at = /^test at (.{1,1000})$/.exec(lines[i] ?? "")?.[1];
    if (at === undefined) continue;
    const title = TITLE.exec(lines[i + 1] ?? "")?.[1] ?? (lines[i + 1] ?? "").replace(/^\s*✖ /, "");
    let end = i + 2;
    while (end < lines.length && !(lines[end] ?? "").startsWith("test at ")) end++;
    const body = lines.slice(i + 2, end);
    const location = readLocation(at);
    const frames = body.flatMap((line) => readLocation(FRAME.exec(line)?.[1] ?? "") ?? []);
    const frame = location === undefined ? undefined : locationIn(location.file, frames);
    failures.push({
      name: title,
      file: location?.file ?? null,
      line: frame?.line ?? location?.line ?? null,
      message: causeOf(messageOf(body), lines, results.get(title) ?? -1),
    });
    i = end - 1;
  }
  return failures;
};

const unquote = (value: string): string =>
  value
    .trim()
    .replace(/^'(.*)'$/, "$1")
    .replaceAll("\\'", "'");

/** Maximum number of lines that are read for one failure, because hostile output may never end a block. */
const MAX_BLOCK_LINES = 400;

/** A block of YAML below `not ok`: only the keys that are wanted, without a parser. */
const readTapBlock = (lines: readonly string[], start: number, indent: number) => {
  const values = new Map<string, string[]>();
  let current: string[] = [];
  for (let i = start; i < Math.min(lines.length, start + MAX_BLOCK_LINES); i++) {
    const text = (lines[i] ?? "").slice(indent);
    // A block that was never ended stops at the next result.
    if (text.startsWith("...") || /^ {0,400}not ok /.test(lines[i] ?? "")) break;
    const [, key, value = ""] = /^(\w{1,40}):(.*)$/.exec(text) ?? [];
    if (key === undefined) current.push(text);
    else {
      current = /^ [|>]/.test(value) ? [] : [unquote(value)];
      values.set(key, current);
    }
  }
  return (key: string): readonly string[] => values.get(key) ?? [];
};

/** In a stack of TAP the frames stand without `at`. */
const TAP_FRAME = /^\s*(?:.{0,500}\()?((?:file:\/\/)?[^\s():][^\s()]{0,1000}:\d+:\d+)\)?$/;

const readTap = (lines: readonly string[]): TestFailure[] => {
  const failures: TestFailure[] = [];
  for (const [at, line] of lines.entries()) {
    if (failures.length >= MAX_FAILURES) break;
    const [, indent = "", name] = /^( {0,400})not ok \d+ - (.{0,2000})$/.exec(line) ?? [];
    if (name === undefined || / # (?:TODO|SKIP)\b/i.test(name)) continue;
    const value = readTapBlock(lines, at + 2, indent.length + 2);
    // A suite fails with its tests, which are reported themselves.
    if (value("failureType")[0] === "subtestsFailed") continue;
    const location = readLocation(value("location")[0] ?? "");
    const frame = value("stack")
      .flatMap((each) => readLocation(TAP_FRAME.exec(each)?.[1] ?? "") ?? [])
      .find(({ file }) => file === location?.file);
    failures.push({
      name,
      file: location?.file ?? null,
      line: frame?.line ?? location?.line ?? null,
      // The comment that names the test stands before its result.
      message: causeOf(clipMessage(value("error")), lines, at - 1),
    });
  }
  return failures;
};

/** `node --test`, spec and TAP. */
export const parseNodeTest = parserOf((lines) => {
  const passed = totalOf(lines, "pass");
  const failed = totalOf(lines, "fail");
  if (passed === undefined || failed === undefined || totalOf(lines, "tests") === undefined) return undefined;
  const cancelled = totalOf(lines, "cancelled") ?? 0;
  const isTap = lines.some((line) => line.startsWith("TAP version"));
  const duration = totalOf(lines, "duration_ms");
  return {
    runner: "node:test",
    passed,
    failed: failed + cancelled,
    skipped: (totalOf(lines, "skipped") ?? 0) + (totalOf(lines, "todo") ?? 0),
    errors: 0,
    failures: isTap ? readTap(lines) : readSpec(lines),
    notes: [
      ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
      duration === undefined ? "" : `${Math.round(duration)}ms`,
    ],
  };
});

/** One line of the totals. */
const TOTAL = /^[ℹ#] (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) +[\d.]{1,30}$/;

/** Whether a text is the output of one run of node:test, whoever started it: its totals stand in it once, together. */
const isOneRun = (lines: readonly string[]): boolean => {
  const at = lines.findIndex((line) => TOTAL.exec(line)?.[1] === "tests");
  if (at < 0) return false;
  const block = lines.slice(at, at + 8).map((line) => TOTAL.exec(line)?.[1]);
  const end = block.indexOf(undefined);
  const named = end < 0 ? block : block.slice(0, end);
  const isWhole = named.includes("pass") && named.includes("fail");
  return isWhole && !lines.slice(at + named.length).some((line) => TOTAL.test(line));
};

/** The same for programs that are not known to run tests (borp, make, a script of one's own). */
export const parseNodeTestOfAny: ParseTests = (output) => {
  const report = isOneRun(boundedLines(output)) ? parseNodeTest(output) : undefined;
  // Totals without the failures that they count would hide them.
  return report === undefined || (report.failed > 0 && report.failures.length === 0) ? undefined : report;
};
