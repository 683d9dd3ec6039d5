import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { renderTestFailure } from "../base/test-failure.ts";
import { quoteForMessage } from "../base/text.ts";
import type { EnvelopeResult } from "../envelope/port.ts";
import type { TestFailure } from "../envelope/test-runners/contract.ts";
import type { Files } from "../host/read/files.ts";
import { commandMeta, metaOf, renderCommand, shownOf } from "./command-result.ts";
import { detectTestRunner, type TestCommand } from "./detect-test-runner.ts";
import { defineTool } from "./tool.ts";

/** How many failures are shown with their message; of further ones the position, then only the number. */
const MAX_SHOWN = 25;
const MAX_NAMED = 200;

const noRunner = (): LlmcError =>
  new LlmcError("unavailable", "No test runner was found in this workspace.", {
    hint: "Supported runners are pytest, vitest, jest, node --test, cargo and go, recognised by files in the workspace's top folder (pyproject.toml, package.json, Cargo.toml, go.mod). Start any other runner with run_cmd.",
  });

const ALLOWLIST = "mcp.tools.run_cmd_allowlist";

/** Explains what the operator has to configure, because the caller did not choose the program. */
const explain = (thrown: unknown, { runner, command: [program] }: TestCommand): unknown => {
  if (!(thrown instanceof LlmcError)) return thrown;
  if (thrown.code === "forbidden" && thrown.hint?.includes(ALLOWLIST) === true) {
    return new LlmcError("forbidden", `The tests need ${runner}, and ${program} may not be run here.`, {
      hint: `The operator can allow it: llmc allow ${program} (run_cmd_allowlist under [mcp.tools] in llmc.toml).`,
      cause: thrown,
    });
  }
  if (thrown.code === "file_not_found") {
    return new LlmcError(
      "unavailable",
      `The tests need ${runner}, and there is no ${program} in the system's folders.`,
      {
        hint: `Install it, then let the operator run llmc allow ${program}, which also finds one in a virtual environment or a version manager.`,
        cause: thrown,
      },
    );
  }
  return thrown;
};

const refuseOptions = (paths: readonly string[]): void => {
  const option = paths.find((path) => path.startsWith("-"));
  if (option === undefined) return;
  throw new LlmcError("invalid_args", `${quoteForMessage(option)} is an option, not a path.`, {
    hint: "Options go into args.",
    details: { field: "paths" },
  });
};

/** Some runners print absolute paths; callers use paths relative to the workspace. */
const toWorkspacePaths = async (
  failures: readonly TestFailure[],
  files: Files,
  signal: AbortSignal,
): Promise<readonly TestFailure[]> => {
  const whole = new Set(failures.flatMap(({ file }) => (file?.startsWith("/") ? [file] : [])));
  const named = new Map<string, string>();
  for (const file of [...whole].slice(0, MAX_NAMED)) {
    try {
      named.set(file, (await files.stat(file, signal)).path);
    } catch {
      // Not a file that callers reach: it stays as the runner wrote it.
      signal.throwIfAborted();
    }
  }
  return failures.map((failure) => ({
    ...failure,
    file: failure.file === null ? null : (named.get(failure.file) ?? failure.file),
  }));
};

const dataOf = (runner: string, { tests, document }: EnvelopeResult, failures: readonly TestFailure[]) => {
  const { exit_code, stdout, stderr } = document;
  if (tests === undefined) {
    const uncounted = { passed: null, failed: null, skipped: null, errors: null };
    return { runner, ...uncounted, exit_code, failures: [], stdout, stderr };
  }
  const { passed, failed, skipped, errors } = tests;
  return {
    runner,
    passed,
    failed,
    skipped,
    errors,
    exit_code,
    failures: failures
      .slice(0, MAX_NAMED)
      .map((failure, i) => ({ ...failure, message: i < MAX_SHOWN ? failure.message : "" })),
    // No test failed, but the run did; its output is the only information.
    ...(exit_code !== 0 && failed + errors === 0
      ? { stdout, stderr }
      : tests.other === undefined
        ? {}
        : { stdout: `[other output]\n${tests.other}` }),
  };
};

const count = z.int().nullable();

export const runPytest = defineTool({
  name: "run_pytest",
  description: "Run the workspace's tests (pytest, vitest, jest, node:test, cargo, go): failures first.",
  effect: "execute",
  // The test run has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input: z.strictObject({
    paths: z.array(z.string().min(1).max(4096)).max(200).optional(),
    args: z.array(z.string().max(4096)).max(200).optional().describe("more options of the runner"),
    timeout: z.int().min(1).max(86_400).optional().describe("seconds"),
  }),
  output: z.object({
    data: z.object({
      runner: z.string(),
      /** Null where the run ended before the runner counted. */
      passed: count,
      failed: count,
      skipped: count,
      errors: count,
      exit_code: z.int(),
      failures: z.array(
        z.object({
          name: z.string(),
          file: z.string().nullable(),
          line: z.int().nullable(),
          message: z.string(),
        }),
      ),
      /** The runner's output, if it ended before it reported counts; else what tests and others wrote besides. */
      stdout: z.string().optional(),
      stderr: z.string().optional(),
    }),
    meta: commandMeta,
  }),
  run: async ({ paths = [], args = [], timeout }, { files, envelope }, { signal, caller }) => {
    refuseOptions(paths);
    const found = await detectTestRunner(files, { paths, args }, signal);
    if (found === undefined) throw noRunner();
    try {
      const result = await envelope.run({ command: found.command, timeoutSeconds: timeout }, caller, signal);
      const failures = await toWorkspacePaths(result.tests?.failures ?? [], files, signal);
      const data = dataOf(found.runner, result, failures);
      return { data, meta: metaOf(result), shown: shownOf(result) };
    } catch (thrown) {
      throw explain(thrown, found);
    }
  },
  render: ({ data, meta }, { shown }) => {
    const { runner, passed, failed, skipped, errors, failures, exit_code, stdout = "", stderr = "" } = data;
    const ranNothing = exit_code !== 0 && [passed, failed, skipped, errors].every((each) => each === 0);
    const totals = ranNothing
      ? ["no tests ran"]
      : [
          ...(errors ? [`${errors} errors`] : []),
          ...(failed ? [`${failed} failed`] : []),
          ...(passed === null ? [] : [`${passed} passed`]),
          ...(skipped ? [`${skipped} skipped`] : []),
        ];
    const rest = (failed ?? 0) + (errors ?? 0) - failures.length;
    const text = [
      passed === null ? `${runner} ended before it reported any counts` : `${runner}: ${totals.join(", ")}`,
      ...failures.map(renderTestFailure),
      ...(failures.length >= MAX_NAMED && rest > 0 ? [`[+${rest} failures]`] : []),
      ...(stdout === "" ? [] : [stdout.trimEnd()]),
    ].join("\n");
    // The exit status only repeats that tests failed.
    const isReported = failures.length > 0 && exit_code !== 0 && !meta.timed_out;
    const isWhole = (failed ?? 0) + (errors ?? 0) === 0 && passed !== null;
    return renderCommand(
      { stdout: text, stderr, exit_code: isReported ? 0 : exit_code },
      { ...meta, ...shown, truncated: shown.truncated && !(isWhole && exit_code === 0) },
    );
  },
});
