import { basename } from "node:path";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { nearest, quoteForMessage } from "../base/text.ts";
import type { ExplainPolicyFlags } from "../cli/actions.ts";
import type { PolicyCase } from "../cli/policy-cases.ts";
import type { ExplainedDecision, TestedCase } from "../cli/policy-command.ts";
import type { Explained } from "../core/authorizer.ts";
import { type Caller, EFFECTS, LOCAL } from "../core/contract.ts";
import { hostSubject, programSubject, type Subject, wholeSubject } from "../core/requests.ts";
import { SCOPES, TOKEN_ENTRY } from "../http/auth/scopes.ts";
import { missingScope } from "../policy/cedar/default-policies.ts";
import { type PolicyAction, type PolicyResource, RESOURCES } from "../policy/cedar/model.ts";
import { positionOf } from "../policy/cedar/positions.ts";
import type { ProgramRequest } from "../policy/permit.ts";
import type { App } from "./app.ts";
import { type Asked, checkOptions, knowledgeAsked, pathAsked } from "./explain-resources.ts";
import { modelSettingsOf } from "./model-settings.ts";

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

/** As doors give them: whoever needs no token has the effects of tools, a token its scopes, an unknown one all. */
const scopesOf = (app: App, name: string): readonly string[] => {
  if (name === LOCAL) return EFFECTS;
  const { tokens } = app.config.current().config.mcp.auth;
  const entry = tokens.map((each) => TOKEN_ENTRY.exec(each)?.groups).find((one) => one?.["name"] === name);
  const scopes = entry?.["scopes"]?.split(",") ?? ["admin"];
  return scopes.includes("admin") ? SCOPES : scopes;
};

const callerOf = (app: App, given: PolicyCase["principal"]): Caller => {
  const { id = LOCAL } = given;
  const { defaultAgentId, defaultModel, defaultBudgetProfile } = app.core.settings();
  return {
    principal: id,
    owner: id,
    may: new Set(given.scopes ?? scopesOf(app, id)),
    transport: (given.transport ?? (id === LOCAL ? "stdio" : "http")) as Caller["transport"],
    agentId: given.agent ?? defaultAgentId,
    sessionId: given.session ?? "",
    model: defaultModel,
    budgetProfile: defaultBudgetProfile,
  };
};

/** A program as the gate hands it to policy, and why the gate itself refuses it. Nothing is started. */
const askGate = async (
  app: App,
  program: string,
): Promise<{ readonly requests: readonly ProgramRequest[]; readonly refusal: LlmcError | undefined }> => {
  const { gate } = await app.engines();
  const requests: ProgramRequest[] = [];
  const session = {
    agentId: "",
    sessionId: "",
    model: "",
    permit: (request: ProgramRequest) => void requests.push(request),
  };
  const call = { command: [program] as const, cwd: undefined, timeoutSeconds: undefined, session };
  const refusal = await gate.writerOf(call, undefined).then(() => undefined, toLlmcError);
  const isFirst = (one: ProgramRequest, at: number): boolean =>
    requests.findIndex(({ needs }) => needs?.powers === one.needs?.powers) === at;
  return { requests: requests.filter(isFirst), refusal };
};

const needsOnly = (program: string, powers: readonly string[], refusal: LlmcError): ProgramRequest => ({
  program,
  realName: program,
  needs: { path: undefined, realPath: undefined, readPaths: [], powers, meaning: [], content: "", refusal },
});

const programsOf = async (
  app: App,
  { program = "", power }: Pick<ExplainPolicyFlags, "program" | "power">,
): Promise<readonly Omit<Asked, "about">[]> => {
  const { requests, refusal } = await askGate(app, program);
  const { command_powers: granted } = app.config.current().config.mcp.tools;
  const missing = power.filter((one) => !granted.includes(one));
  const name = requests[0]?.program ?? basename(program);
  if (requests.length === 0) {
    const unknown = { ...needsOnly(name, missing, new LlmcError("forbidden", "")) };
    const needs = unknown.needs && { ...unknown.needs, path: program };
    return [{ subject: programSubject({ ...unknown, needs }), refusal }];
  }
  const withPower =
    missing.length === 0 ? [] : [needsOnly(name, missing, new LlmcError("forbidden", "no power"))];
  const isListed = requests.every(({ needs }) => needs === undefined);
  return [...(isListed && withPower.length > 0 ? [] : requests), ...withPower].map((request) => ({
    subject: programSubject(request),
  }));
};

/** Where text would go: the host of the agent's model, or another one that is asked about. */
const hostOf = async (app: App, named: string | undefined): Promise<Subject | undefined> => {
  const { mcp } = app.config.current().config;
  const model = mcp.llm.agent_model || (named === undefined ? "" : "openai/model");
  if (model === "") return undefined;
  const { egressOf } = await import("../llm/models.ts");
  const settings = modelSettingsOf(mcp);
  const { request, provider } = egressOf(model, settings);
  if (named === undefined || named === request.host) return hostSubject(request);
  const { setting } = (await import("../llm/providers.ts")).PROVIDERS[provider];
  const elsewhere = { ...settings.providers[setting], url: `https://${named}` };
  const providers = { ...settings.providers, [setting]: elsewhere };
  return hostSubject({ ...egressOf(model, { ...settings, providers }).request, host: named });
};

/** What a call comes to, in the order in which the server decides. */
const subjectsOf = async (app: App, tool: string, flags: ExplainPolicyFlags): Promise<readonly Asked[]> => {
  const action = await findAction(app, tool);
  checkOptions(action, flags);
  const { program, path, host } = flags;
  const isWhole = action.about.some((type) => type === "Workspace" || type === "Server");
  const sent = action.about.includes("Host") ? await hostOf(app, host) : undefined;
  const subjects: Asked[] = [
    ...(isWhole ? [{ about: tool, subject: wholeSubject(action, basename(app.root)) }] : []),
    ...(program === undefined
      ? []
      : (await programsOf(app, flags)).map((one) => ({ about: `${tool} starts ${program}`, ...one }))),
    ...(path === undefined ? [] : [await pathAsked(app, action, path)]),
    ...knowledgeAsked(action, flags),
    ...(sent === undefined
      ? []
      : [{ about: `${tool} sends text to ${sent.resources[0].id}`, subject: sent }]),
  ];
  if (subjects.length > 0) return subjects;
  throw new LlmcError("invalid_args", `${tool} is decided on with a ${action.about.join(" or a ")}.`, {
    hint: "Name it: --program, --path or --host.",
  });
};

const allowHint = ({ resources: [resource] }: Subject): string =>
  resource.type === "Command"
    ? ` llmc allow ${(resource.allowlisted && resource.missing_powers.at(-1)) || resource.id} permits it for good.`
    : "";

const belowPolicy = ({ message, hint }: LlmcError): string =>
  ["Refused below policy:", message, hint ?? ""].join(" ").trimEnd();

const meaningOf = (
  app: App,
  subject: Subject,
  refusal: LlmcError | undefined,
  explained: Explained,
): string => {
  const { outcome, asked, isConsentless, decision } = explained;
  const { policies, brokenAt, failure } = decision;
  if (outcome !== "deny" && refusal !== undefined) return belowPolicy(refusal);
  if (outcome === "allow") return "The call goes on.";
  const allow = policies.length === 0 ? allowHint(subject) : "";
  if (asked !== undefined)
    return `The user is asked: "${asked.prompt}" A client that cannot ask gets a refusal.${allow}`;
  if (isConsentless)
    return app.core.settings().asksUsers
      ? `Refused without a question: over HTTP only a token with the scope "admin" is asked.${allow}`
      : `Refused without a question, because mcp.security.escalation_prompts is false.${allow}`;
  if (brokenAt !== undefined) return `Everything is refused until ${brokenAt} is fixed: llmc policy check.`;
  if (failure !== undefined) return `It could not be decided, which refuses: ${failure}`;
  const scope = missingScope(policies);
  if (scope !== undefined)
    return `The caller lacks the scope "${scope}": the operator grants it in mcp.auth.tokens.`;
  if (policies.includes("llmc.air-gap")) return "No policy lifts this limit.";
  if (refusal !== undefined) return [refusal.message, refusal.hint ?? ""].join(" ").trimEnd();
  return policies.length === 0
    ? `A permit for Action::"${subject.action.name}" in a file of mcp.security.policy_files allows it.`
    : "The operator removes or narrows the policy that forbids it; no permit lifts it.";
};

const locationOf = (app: App, id: string): string => {
  const policy = app.policy.report().policies.find((one) => one.id === id);
  return policy === undefined ? "built in" : positionOf({ file: policy.file, line: policy.line });
};

/** Which policies decide on a tool, and on what it would start, read or ask. */
export const explain = async (
  app: App,
  tool: string,
  flags: ExplainPolicyFlags,
): Promise<readonly ExplainedDecision[]> => {
  const { principal, scopes, agent, granted = false } = flags;
  const caller = callerOf(app, {
    ...(principal === undefined ? {} : { id: principal }),
    ...(scopes === undefined ? {} : { scopes: scopes.split(",").map((scope) => scope.trim()) }),
    ...(agent === undefined ? {} : { agent }),
  });
  return (await subjectsOf(app, tool, flags)).map(({ about, subject, refusal }) => {
    if (subject === undefined)
      return {
        about,
        outcome: refusal === undefined ? "allow" : "deny",
        meaning:
          refusal === undefined
            ? "No policy is asked: it lies in the roots, where mcp.tools.allowed_roots and denylist_globs decide."
            : belowPolicy(refusal),
      };
    const explained = app.core.explain(subject, caller, { granted });
    const { policies } = explained.asked?.agreed ?? explained.decision;
    return {
      about,
      outcome: refusal === undefined ? explained.outcome : "deny",
      policies: policies.map((id) => ({ id, location: locationOf(app, id) })),
      meaning: meaningOf(app, subject, refusal, explained),
    };
  });
};

/** What a case leaves out is as it usually is. */
const subjectOf = async (app: App, { name, action: named, resource }: PolicyCase): Promise<Subject> => {
  const action = await findAction(app, named).catch((thrown: unknown) => {
    const { code, message, hint } = toLlmcError(thrown);
    throw new LlmcError(code, `${name}: ${message}`, hint === undefined ? {} : { hint });
  });
  if (resource === undefined) return wholeSubject(action, basename(app.root));
  const { type } = resource;
  if (!action.about.includes(type)) {
    const others = (await app.core.actions()).filter(({ about }) => about.includes(type));
    throw new LlmcError("invalid_args", `${name}: ${named} is never decided on with a ${type}.`, {
      hint: `Actions that are: ${others.map((one) => one.name).join(", ")}.`,
    });
  }
  return { action, resources: [{ id: "", ...RESOURCES[type], ...resource } as PolicyResource] };
};

export const runCase = async (app: App, one: PolicyCase): Promise<TestedCase> => {
  const subject = await subjectOf(app, one);
  const { outcome, decision, asked } = app.core.explain(subject, callerOf(app, one.principal), one.context);
  const { policies } = asked?.agreed ?? decision;
  return { name: one.name, expected: one.expect, actual: outcome, policies };
};
