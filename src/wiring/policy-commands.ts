import { basename, extname, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import { nearest, quoteForMessage } from "../base/text.ts";
import type { CommonOptions, ExplainPolicyFlags } from "../cli/actions.ts";
import { type PolicyCase, parseCases } from "../cli/policy-cases.ts";
import {
  type CheckedPolicies,
  type ExplainedDecision,
  showChecked,
  showExplained,
  showTested,
} from "../cli/policy-command.ts";
import { START_PROGRAM } from "../core/authorizer.ts";
import { EFFECTS, LOCAL } from "../core/contract.ts";
import { readOwnFile } from "../host/own-files/read-own-file.ts";
import { TOKEN_ENTRY } from "../http/auth/scopes.ts";
import type {
  PolicyAction,
  PolicyContext,
  PolicyPrincipal,
  PolicyRequest,
  PolicyResource,
} from "../policy/cedar/model.ts";
import { type Judgement, judge } from "../policy/cedar/outcome.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { compileFiles } from "./compile-policies.ts";
import type { ActionsOf, Invocation } from "./invocation.ts";
import { describeProblem } from "./policy-store.ts";
import { readPolicyTexts } from "./policy-texts.ts";
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
  const inForce = readPolicyTexts(loaded, request);
  const { files, problems } =
    named.length === 0
      ? inForce
      : readPolicyTexts(
          loaded,
          request,
          named.map((file) => resolve(request.cwd, file)),
        );
  const waiting = new Set(inForce.files.filter(({ mayPermit }) => !mayPermit).map(({ name }) => name));
  const result = await compileFiles(
    app.newId(),
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

const findAction = async (app: App, name: string): Promise<PolicyAction> => {
  const actions = await app.core.actions();
  const found = actions.find((action) => action.name === name);
  if (found !== undefined) return found;
  const close = nearest(
    name,
    actions.map((action) => action.name),
  );
  throw new LlmcError("unknown_tool", `There is no tool ${quoteForMessage(name)}.`, {
    hint: close === undefined ? "llmc tools shows what there is." : `Did you mean ${close}?`,
  });
};

/** A token's scopes as the configuration has them; whoever needs no token, and an unknown one, has all. */
const scopesOf = (app: App, name: string): readonly string[] => {
  const { tokens } = app.config.current().config.mcp.auth;
  const entry = tokens.map((each) => TOKEN_ENTRY.exec(each)?.groups).find((one) => one?.["name"] === name);
  const scopes = entry?.["scopes"]?.split(",") ?? ["admin"];
  return scopes.includes("admin") ? [...EFFECTS, "metrics", "admin"] : scopes;
};

const principalOf = (app: App, given: Partial<PolicyPrincipal>): PolicyPrincipal => {
  const { id = LOCAL } = given;
  return {
    id,
    scopes: given.scopes ?? scopesOf(app, id),
    transport: given.transport ?? (id === LOCAL ? "stdio" : "http"),
    agent: given.agent ?? app.core.settings().defaultAgentId,
    session: given.session ?? "",
  };
};

const contextOf = (app: App, given: Partial<PolicyContext>): PolicyContext => {
  const { mode, airGapped, defaultBudgetProfile } = app.core.settings();
  return {
    mode: given.mode ?? mode,
    profile: given.profile ?? defaultBudgetProfile,
    airGapped: given.airGapped ?? airGapped,
    granted: given.granted ?? false,
  };
};

const usualResource = ({ group }: PolicyAction, root: string): PolicyResource => {
  if (group === "admin" || group === "metrics") return { type: "Server", id: "llmc" };
  return group === "flow" ? { type: "Flow", id: "" } : { type: "Workspace", id: basename(root) };
};

const commandOf = (app: App, program: string, powers: readonly string[]): PolicyResource => {
  const { run_cmd_allowlist: allowlist, command_powers: granted } = app.config.current().config.mcp.tools;
  return {
    type: "Command",
    id: program,
    allowlisted: allowlist.some((entry) => basename(entry) === program),
    missingPowers: powers.filter((power) => !granted.includes(power)),
  };
};

const LIMITS = /^llmc\.(denied|protected|air-gap)$/;
const SCOPE = /^llmc\.scope\.(\w+)$/;

const meaningOf = (app: App, { action, resource }: PolicyRequest, judged: Judgement): string => {
  const { outcome, policies, brokenAt } = judged;
  if (outcome === "allow") return "The call goes on.";
  const { escalation_prompts: asks } = app.config.current().config.mcp.security;
  const allow =
    resource.type === "Command"
      ? ` llmc allow ${[resource.id, ...resource.missingPowers].at(-1)} permits it for good.`
      : "";
  if (outcome === "ask") {
    const prompt = policies.map(app.policy.promptOf).find((text) => text !== undefined) ?? "Allow this?";
    return asks
      ? `The user is asked: "${prompt}" A client that cannot ask gets a refusal.${allow}`
      : `Refused without a question, because mcp.security.escalation_prompts is false.${allow}`;
  }
  if (brokenAt !== undefined) return `Everything is refused until ${brokenAt} is mended: llmc policy check.`;
  const scope = policies.flatMap((id) => SCOPE.exec(id)?.[1] ?? [])[0];
  if (scope !== undefined)
    return `The caller lacks the scope "${scope}": the operator grants it in mcp.auth.tokens.`;
  if (policies.some((id) => LIMITS.test(id))) return "No policy lifts this limit.";
  return policies.length === 0
    ? `A permit for Action::"${action.name}" in a file of mcp.security.policy_files allows it.`
    : "The operator removes or narrows the policy that forbids it; no permit lifts it.";
};

const locationOf = (app: App, id: string): string => {
  const policy = app.policy.report().policies.find((one) => one.id === id);
  return policy === undefined ? "built in" : `${policy.file}:${policy.line}`;
};

const explain = async (
  app: App,
  tool: string,
  { program, power, principal, scopes, agent, granted }: ExplainPolicyFlags,
): Promise<readonly ExplainedDecision[]> => {
  const action = await findAction(app, tool);
  const asked = {
    principal: principalOf(app, {
      ...(principal === undefined ? {} : { id: principal }),
      ...(scopes === undefined ? {} : { scopes: scopes.split(",").map((scope) => scope.trim()) }),
      ...(agent === undefined ? {} : { agent }),
    }),
    context: contextOf(app, { granted: granted ?? false }),
  };
  const requests: (PolicyRequest & { readonly about: string })[] = [
    { about: tool, ...asked, action, resource: usualResource(action, app.root) },
    ...(program === undefined
      ? []
      : [
          {
            about: `${tool} starts ${program}`,
            ...asked,
            action: START_PROGRAM,
            resource: commandOf(app, program, power),
          },
        ]),
  ];
  return requests.map(({ about, ...request }) => {
    const judged = judge(app.policy.decide, request);
    return {
      about,
      outcome: judged.outcome,
      policies: judged.policies.map((id) => ({ id, location: locationOf(app, id) })),
      meaning: meaningOf(app, request, judged),
    };
  });
};

/** What a case leaves out is as it usually is: in a root, on the list, nothing missing. */
const resourceOf = (given: PolicyCase["resource"], usual: PolicyResource): PolicyResource => {
  const { type = usual.type, id = usual.id } = given as Partial<Pick<PolicyResource, "type" | "id">>;
  const flag = (name: string, otherwise: boolean): boolean =>
    (given[name] as boolean | undefined) ?? otherwise;
  switch (type) {
    case "File":
      return {
        type,
        id,
        inRoot: flag("in_root", true),
        denied: flag("denied", false),
        isProtected: flag("protected", false),
      };
    case "Command":
      return {
        type,
        id,
        allowlisted: flag("allowlisted", true),
        missingPowers: (given["missing_powers"] as readonly string[] | undefined) ?? [],
      };
    case "Host":
      return { type, id, listed: flag("listed", true) };
    default:
      return { type, id };
  }
};

const runCase = async (app: App, one: PolicyCase) => {
  const action = await findAction(app, one.action);
  if (one.resource["type"] === "Command" && action.name !== START_PROGRAM.name)
    throw new LlmcError("invalid_args", `${one.name}: programs are decided on as ${START_PROGRAM.name}.`, {
      hint: `Write ${START_PROGRAM.name} as the action, whatever tool is to start it.`,
    });
  const { air_gapped: airGapped, ...context } = one.context as Partial<PolicyContext> & {
    air_gapped?: boolean;
  };
  const judged = judge(app.policy.decide, {
    principal: principalOf(app, one.principal),
    action,
    resource: resourceOf(one.resource, usualResource(action, app.root)),
    context: contextOf(app, { ...context, ...(airGapped === undefined ? {} : { airGapped }) }),
  });
  return { name: one.name, expected: one.expect, actual: judged.outcome, policies: judged.policies };
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
