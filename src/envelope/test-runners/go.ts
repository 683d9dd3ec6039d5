import { parserOf, type TestFailure } from "./contract.ts";
import { clipMessage, MAX_FAILURES } from "./message.ts";

interface GoEvent {
  readonly Action?: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
}

const END = /^( {0,400})--- (PASS|FAIL|SKIP): (\S{1,1000}) \(/;
const LOCATION = /^\s+([^\s:]{1,500}\.go):(\d{1,9}): ?(.*)$/;
const BUILD_ERROR = /^(?:vet: )?(?:\.\/)?([^\s:]{1,500}\.go):(\d{1,9}):\d{1,9}: (.{1,2000})$/;
const PACKAGE = /^(ok|FAIL|\?|---) {0,2}\t(\S{1,1000})/;
/** Lines that belong to no test. */
const CHROME =
  /^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:PASS|FAIL|SKIP): |PASS$|FAIL$|ok {2}\t|FAIL\t|\?\s+\t|exit status )/;

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

const readFailure = (name: string, output: readonly string[]): TestFailure => {
  const location = output.flatMap((line) => LOCATION.exec(line) ?? []);
  const found = output.map((line) => LOCATION.exec(line)).find((each) => each !== null);
  return {
    name,
    file: found?.[1] ?? null,
    line: location.length === 0 ? null : Number(found?.[2]),
    message: clipMessage(
      output.filter((line) => !CHROME.test(line)).map((line) => line.replace(LOCATION, "$3")),
    ),
  };
};

/** A test with failed subtests adds no information to them. */
const withoutParents = (failures: readonly TestFailure[]): TestFailure[] => {
  const parents = new Set(
    failures.flatMap(({ name }) => {
      const parts = name.split("/");
      return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
    }),
  );
  return failures.filter(({ name, message }) => message !== "" || !parents.has(name));
};

const buildErrors = (lines: readonly string[]): TestFailure[] =>
  lines.flatMap((line) => {
    const found = BUILD_ERROR.exec(line);
    return found === null
      ? []
      : [
          {
            name: "does not compile",
            file: found[1] ?? null,
            line: Number(found[2]),
            message: found[3] ?? "",
          },
        ];
  });

const report = (tally: Tally, failures: readonly TestFailure[], lines: readonly string[]) => {
  const packages = lines.flatMap((line) => PACKAGE.exec(line)?.[1] ?? []);
  const broken = lines.filter((line) => /^FAIL\t.*\[(?:build|setup) failed\]$/.test(line)).length;
  const ok = packages.filter((word) => word === "ok").length;
  const bad = packages.filter((word) => word === "FAIL").length;
  const panics = lines.filter((line) => line.startsWith("panic: "));
  return {
    runner: "go" as const,
    ...tally,
    errors: broken,
    failures: [...(broken > 0 ? buildErrors(lines) : []), ...withoutParents(failures)],
    notes: [`packages: ${ok} ok${bad > 0 ? `, ${bad} failed` : ""}`, ...panics.slice(0, 1)],
  };
};

const keyOf = (word: string): keyof Tally =>
  word === "PASS" ? "passed" : word === "SKIP" ? "skipped" : "failed";

/** With `-v` the output of a test comes before its result, without it after. */
const readText = (lines: readonly string[]) => {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  const failures: TestFailure[] = [];
  const before = new Map<string, string[]>();
  let current = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const started = /^=== (?:RUN|CONT|NAME) +(\S{1,1000})$/.exec(line)?.[1];
    if (started !== undefined) {
      current = started;
      continue;
    }
    const end = END.exec(line);
    if (end === null) {
      const own = before.get(current);
      if (current !== "" && own === undefined) before.set(current, [line]);
      else own?.push(line);
      continue;
    }
    const [, indent = "", word = "", name = ""] = end;
    tally[keyOf(word)]++;
    const output = before.get(name) ?? [];
    // Another package may have a test of the same name; and one that fails again and again must not cost all of its lines
    // each time.
    before.delete(name);
    if (word !== "FAIL" || failures.length >= MAX_FAILURES) continue;
    const after: string[] = [];
    while (
      i + 1 < lines.length &&
      /^ /.test(lines[i + 1] ?? "") &&
      !END.test(lines[i + 1] ?? "") &&
      (lines[i + 1] ?? "").startsWith(`${indent}    `)
    )
      after.push(lines[++i] ?? "");
    failures.push(readFailure(name, [...output, ...after]));
  }
  return report(tally, failures, lines);
};

/** An event whose line was cut, because its test printed too much, says nothing. */
const readEvent = (line: string): GoEvent => {
  try {
    return JSON.parse(line) as GoEvent;
  } catch {
    return {};
  }
};

const readEvents = (lines: readonly string[]) => {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  const outputs = new Map<string, string[]>();
  const failures: TestFailure[] = [];
  const plain: string[] = [];
  for (const line of lines) {
    if (!line.startsWith("{")) {
      plain.push(line);
      continue;
    }
    const { Action: action = "", Package: from = "", Test: test, Output: text = "" } = readEvent(line);
    const key = `${from} ${test ?? ""}`;
    if (action === "output" || action === "build-output") {
      if (test === undefined) plain.push(text.replace(/\n$/, ""));
      else {
        const own = outputs.get(key);
        if (own === undefined) outputs.set(key, [text.replace(/\n$/, "")]);
        else own.push(text.replace(/\n$/, ""));
      }
    } else if (test !== undefined && /^(?:pass|fail|skip)$/.test(action)) {
      tally[keyOf(action.toUpperCase())]++;
      if (action === "fail" && failures.length < MAX_FAILURES)
        failures.push(readFailure(test, outputs.get(key) ?? []));
      outputs.delete(key);
    }
  }
  return report(tally, failures, plain);
};

/** `go test`, plain, `-v` and `-json`. */
export const parseGo = parserOf((lines) => {
  if (lines.some((line) => line.startsWith('{"') && line.includes('"Action":'))) return readEvents(lines);
  return lines.some((line) => PACKAGE.test(line) || END.test(line)) ? readText(lines) : undefined;
});
