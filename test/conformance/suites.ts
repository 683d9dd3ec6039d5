import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWorkspace } from "../workspace.ts";
import { openDoor } from "./door.ts";

const MODULES = fileURLToPath(new URL("modules", import.meta.url));

interface Suite {
  readonly name: string;
  /** Its package.json. */
  readonly manifest: string;
}

/** One revision, tested by one release of the official suite. */
export interface Run {
  readonly revision: string;
  readonly suite: Suite;
  readonly args: readonly string[];
  /** Scenarios that are no clean pass, each with the reason in one line. */
  readonly remarks: Readonly<Record<string, string>>;
}

const require = createRequire(import.meta.url);

const STABLE: Suite = {
  name: "stable",
  manifest: require.resolve("@modelcontextprotocol/conformance/package.json"),
};
const NEXT: Suite = { name: "next", manifest: require.resolve("conformance-next/package.json") };

const TASKS = [
  "lifecycle",
  "capability-negotiation",
  "wire-fields",
  "request-state-removal",
  "mrtr-input",
  "request-headers",
  "dispatch-and-envelope",
  "status-notifications",
  "required-task-error",
  "mrtr-composition",
].map((name) => [`tasks-${name}`, "llmc does not offer the tasks extension, which is optional."] as const);

/** All scenarios, those included that the suite's own reference server does not pass yet ("pending"). */
const all = (revision: string) => ["--suite", "all", "--spec-version", revision];

export const RUNS: readonly Run[] = [
  { revision: "2025-06-18", suite: STABLE, args: all("2025-06-18"), remarks: {} },
  {
    revision: "2025-11-25",
    suite: STABLE,
    args: all("2025-11-25"),
    remarks: {
      "server-sse-polling":
        "The scenario claims revision 2025-03-26, whose clients may not be sent the events it looks for; the newer suite claims 2025-11-25 and passes.",
    },
  },
  { revision: "2025-06-18", suite: NEXT, args: all("2025-06-18"), remarks: {} },
  { revision: "2025-11-25", suite: NEXT, args: all("2025-11-25"), remarks: {} },
  {
    revision: "2026-07-28",
    suite: NEXT,
    args: ["--requirements", "2026-07-28"],
    remarks: {
      ...Object.fromEntries(TASKS),
    },
  },
];

export interface Outcome {
  readonly scenario: string;
  /** A scenario in which nothing was checked is not applicable. */
  readonly verdict: "pass" | "fail" | "not applicable";
  readonly failures: readonly string[];
  readonly warnings: readonly string[];
  /** Why the revision does not require the scenario, where it does not. */
  readonly notRequired: string | undefined;
}

export interface Report {
  readonly run: Run;
  readonly version: string;
  readonly outcomes: readonly Outcome[];
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** Scenarios are saved as `server-NAME-TIME`. */
const SAVED = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;

const savedChecks = async (folder: string): Promise<ReadonlyMap<string, readonly Check[]>> => {
  const checks = new Map<string, readonly Check[]>();
  for (const name of await readdir(folder)) {
    const scenario = SAVED.exec(name)?.[1];
    if (scenario === undefined) continue;
    // A scenario that broke off has a folder and no checks.
    const text = await readFile(join(folder, name, "checks.json"), "utf8").catch(() => "[]");
    checks.set(scenario, JSON.parse(text) as readonly Check[]);
  }
  return checks;
};

const runProcess = (script: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    child.once("error", reject);
    // Its exit code only repeats what the checks say.
    child.once("close", () => resolve(output));
  });

const STARTED = /^=== Running scenario: (\S+) ===$/gm;
const NOT_SCORED = /^ {2}[✓✗] (\S+) \((.+)\)$/gm;

const outcomeOf = (
  scenario: string,
  checks: readonly Check[] | undefined,
  notRequired: string | undefined,
): Outcome => {
  const messages = (status: Check["status"]) =>
    (checks ?? [])
      .filter((check) => check.status === status)
      .map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "no message"}`);
  const failures =
    checks === undefined || checks.length === 0 ? ["the scenario broke off"] : messages("FAILURE");
  const warnings = messages("WARNING");
  const checked = messages("SUCCESS").length + warnings.length;
  const verdict = failures.length > 0 ? "fail" : checked > 0 ? "pass" : "not applicable";
  return { scenario, verdict, failures, warnings, notRequired };
};

/** Runs one suite against a door that is open; its files go to the folder. */
const runSuite = async (run: Run, url: URL, folder: string): Promise<Report> => {
  const { version } = JSON.parse(await readFile(run.suite.manifest, "utf8")) as { version: string };
  const output = await runProcess(join(dirname(run.suite.manifest), "dist/index.js"), [
    "server",
    "--url",
    url.href,
    "-o",
    folder,
    ...run.args,
  ]);
  const scenarios = [...output.matchAll(STARTED)].map(([, name = ""]) => name);
  if (scenarios.length === 0) throw new Error(`the suite ${version} ran no scenario:\n${output}`);
  const checks = await savedChecks(folder);
  const reasons = new Map([...output.matchAll(NOT_SCORED)].map(([, name, why]) => [name, why]));
  return {
    run,
    version,
    outcomes: scenarios.map((name) => outcomeOf(name, checks.get(name), reasons.get(name))),
  };
};

/** Runs suites one after the other against the real HTTP door, with the fixtures as custom modules. */
export const runSuites = async (runs: readonly Run[]): Promise<readonly Report[]> => {
  await using workspace = await createWorkspace();
  await using results = await createWorkspace();
  await using door = await openDoor(workspace.root, [
    "--mode",
    "classic",
    "--set",
    `mcp.tools.custom_modules=${MODULES}`,
  ]);
  const reports: Report[] = [];
  for (const [i, run] of runs.entries())
    reports.push(await runSuite(run, door.url, join(results.root, String(i))));
  return reports;
};

const needsRemark = ({ verdict, warnings }: Outcome): boolean => verdict !== "pass" || warnings.length > 0;

/** What keeps a report from being as expected: a failure without a remark, or a remark that no longer applies. */
export const surprises = ({ run, outcomes }: Report): readonly string[] => [
  ...outcomes
    .filter((outcome) => needsRemark(outcome) && run.remarks[outcome.scenario] === undefined)
    .map(({ scenario, verdict, failures, warnings }) =>
      [`${scenario}: ${verdict}`, ...failures, ...warnings].join("\n    "),
    ),
  ...Object.keys(run.remarks)
    .filter((name) => !outcomes.some((outcome) => outcome.scenario === name && needsRemark(outcome)))
    .map((name) => `${name}: passes, so its remark must go`),
];
