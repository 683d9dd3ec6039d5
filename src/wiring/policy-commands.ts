import { extname, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import type { CommonOptions } from "../cli/actions.ts";
import { type PolicyCase, parseCases } from "../cli/policy-cases.ts";
import { type CheckedPolicies, showChecked, showExplained, showTested } from "../cli/policy-command.ts";
import { readOwnFile } from "../host/own-files/read-own-file.ts";
import { describeProblem } from "../policy/cedar/positions.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { compileFiles } from "./compile-policies.ts";
import { explain, runCase } from "./explain-policy.ts";
import type { ActionsOf, Invocation } from "./invocation.ts";
import { namedSources, policySources, readPolicyTexts } from "./policy-texts.ts";
import { requestOf } from "./request.ts";

/** The app as a server has it, without its log: errors are what these commands are about. */
const withApp = async <T>(
  run: Invocation,
  options: CommonOptions,
  work: (app: App, request: AppRequest) => Promise<T>,
): Promise<T> => {
  const request = await requestOf(run, options);
  const silent = { "mcp.logging.level": { flag: "(command)", value: "silent" } };
  const app = await createApp({ ...request, overrides: { ...request.overrides, ...silent } });
  try {
    return await work(app, request);
  } finally {
    await app.close();
  }
};

/** What is wrong with the policies that a server would start with now. */
export const policyProblems = (run: Invocation, options: CommonOptions): Promise<readonly string[]> =>
  withApp(run, options, async ({ policy }) => policy.report().problems.map(describeProblem));

/** Checks the files in force, or others. Those that nobody named in the configuration are checked as the operator's. */
const checkPolicies = async (
  app: App,
  request: Pick<AppRequest, "root" | "folders" | "cwd">,
  named: readonly string[],
): Promise<CheckedPolicies> => {
  const loaded = app.config.current();
  const inForce = readPolicyTexts(policySources(loaded, request), request);
  const { files, problems } =
    named.length === 0
      ? inForce
      : readPolicyTexts(namedSources(named.map((file) => resolve(request.cwd, file))), request);
  const waiting = new Set(inForce.files.filter(({ mayPermit }) => !mayPermit).map(({ name }) => name));
  const result = await compileFiles(
    files.map((file) => ({ ...file, mayPermit: !waiting.has(file.name) })),
    await app.core.actions(),
    loaded.config.mcp.security.default_deny,
  );
  return {
    files: [...files, ...problems.map(({ file }) => ({ name: file }))].map(({ name }) => name),
    policies: result.ok
      ? result.compiled.policies.map(({ id, effect, file, line, waits }) => ({
          id,
          effect,
          file,
          line,
          waits,
        }))
      : [],
    problems: [...problems, ...(result.ok ? [] : result.problems)],
    warnings: result.ok ? result.compiled.warnings : [],
  };
};

const MAX_CASES_BYTES = 4 * 1024 * 1024;

const readCases = (path: string): readonly PolicyCase[] => {
  let text: string;
  try {
    text = readOwnFile(path, { maxBytes: MAX_CASES_BYTES }).toString();
  } catch (cause) {
    throw new LlmcError("invalid_args", `${path} cannot be read.`, { cause });
  }
  return parseCases(text, extname(path) === ".toml");
};

/** `llmc policy`. */
export const policyActions: ActionsOf<"checkPolicies" | "explainPolicy" | "testPolicies"> = (run) => ({
  checkPolicies: (files, { json, ...options }) =>
    withApp(run, options, async (app, request) => {
      if (!showChecked(await checkPolicies(app, request, files), run.io, { json: json ?? false }))
        run.setExitCode(ERROR_TABLE.config_invalid.exit);
    }),
  explainPolicy: (tool, options) =>
    withApp(run, options, async (app) =>
      showExplained(await explain(app, tool, options), run.io, { json: options.json ?? false }),
    ),
  testPolicies: (file, { json, ...options }) =>
    withApp(run, options, async (app) => {
      const { problems } = app.policy.report();
      if (problems.length > 0)
        throw new LlmcError("config_invalid", "The policies have errors, so there is nothing to test.", {
          hint: "llmc policy check shows them.",
        });
      const cases = await Promise.all(readCases(resolve(run.cwd, file)).map((one) => runCase(app, one)));
      if (!showTested(cases, run.io, { json: json ?? false })) run.setExitCode(ERROR_TABLE.invalid_args.exit);
    }),
});
