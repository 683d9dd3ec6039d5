import { posix } from "node:path";
import { LlmcError, withHint } from "../base/error.ts";
import type { ActionGroup, PolicyAction, PolicyDecision, PolicyResource } from "../policy/cedar/model.ts";
import type { ProgramNeeds, ProgramRequest } from "../policy/permit.ts";
import { quoteForQuestion, showCall } from "../policy/show-call.ts";
import type { Caller } from "../tools/contract.ts";
import type { Effect } from "../tools/tool.ts";
import {
  type AuthorizerParts,
  type CallState,
  check,
  countsConsent,
  requestFor,
  ticketOf,
} from "./escalate.ts";
import type { Origin } from "./origin.ts";

/** What is called; a tool is one. */
interface Called {
  readonly name: string;
  readonly effect: Effect;
}

const groupOf = ({ name, effect }: Called): ActionGroup => {
  if (name.startsWith("admin_")) return "admin";
  return name === "kb_compose_flow" ? "flow" : effect;
};

/** Administration and flows are decided on as families; all other tools by what they do. */
export const actionOf = (tool: Called): PolicyAction => ({ name: tool.name, group: groupOf(tool) });

/** What ports decide on while a tool runs. */
export const START_PROGRAM: PolicyAction = { name: "start_program", group: "execute" };

/** What clients do through methods and endpoints that are no tools. */
export const ENDPOINTS: readonly PolicyAction[] = [
  { name: "resources/read", group: "read" },
  { name: "prompts/get", group: "read" },
  { name: "completion/complete", group: "read" },
  { name: "rag_bootload", group: "read" },
  { name: "invoke_agent", group: "read" },
  // The text goes to a model, which may be remote and cost money.
  { name: "ask_model", group: "egress" },
  { name: "read_metrics", group: "metrics" },
];

const endpointOf = (name: string): PolicyAction => {
  const found = ENDPOINTS.find((action) => action.name === name);
  if (found === undefined) throw new Error(`${name} is not among the actions of policy`);
  return found;
};

const SCOPE_POLICY = /^llmc\.scope\.(\w+)$/;

/** A policy without a name of its own has that of its file, whose folder callers need not know. */
const publicNameOf = (policy: string): string => (posix.isAbsolute(policy) ? posix.basename(policy) : policy);

const refuseTool = (
  name: string,
  { policies, brokenAt }: PolicyDecision,
  explain = `llmc policy explain ${name}`,
): LlmcError => {
  if (brokenAt !== undefined)
    return new LlmcError("forbidden", `Everything is refused, because a policy has an error: ${brokenAt}.`, {
      hint: "The operator sees with llmc policy check what is wrong; a mended file takes effect at once.",
    });
  const scope = policies.flatMap((policy) => SCOPE_POLICY.exec(policy)?.[1] ?? [])[0];
  if (scope !== undefined)
    return new LlmcError("forbidden", `This caller may not use ${name}: it lacks the scope "${scope}".`, {
      hint: "The operator grants scopes in mcp.auth.tokens.",
    });
  const [policy] = policies;
  return new LlmcError(
    "forbidden",
    policy === undefined
      ? `No policy permits ${name}.`
      : `The policy ${publicNameOf(policy)} does not allow ${name}.`,
    { hint: `The operator decides in mcp.security.policy_files: ${explain} shows why.` },
  );
};

/** What a tool works on, as far as it is known before it runs. */
const resourceOf = ({ group }: PolicyAction, workspace: string): PolicyResource =>
  group === "admin" || group === "metrics"
    ? { type: "Server", id: "llmc" }
    : { type: "Workspace", id: workspace };

const checkTool = (state: CallState, tool: Called): void => {
  const { parts, origin } = state;
  const action = actionOf(tool);
  const resource = resourceOf(action, parts.workspace);
  const prompt = (): string | undefined =>
    parts.policy
      .decide(requestFor(parts, origin.caller, { action, resource }, true))
      .policies.map(parts.policy.promptOf)
      .find((text) => text !== undefined);
  check(state, {
    action,
    resource,
    key: `tool:${action.group}:${action.name}`,
    question: () => {
      const call = showCall(tool.name, state.args);
      return call && `${call}\n${prompt() ?? "Allow this?"}`;
    },
    refuse: (decision) => refuseTool(tool.name, decision),
  });
};

const describeNeeds = (
  program: string,
  { path, realPath, readPaths, powers, meaning }: ProgramNeeds,
): string => {
  const name = quoteForQuestion(program);
  const link = realPath === path ? "" : `, a link to ${quoteForQuestion(realPath ?? "")}`;
  return [
    path === undefined
      ? `${name} is allowed, but not with what this needs: ${powers.join(", ")}.`
      : `${name} is ${quoteForQuestion(path)}${link}, which is not among the allowed programs.`,
    ...meaning.map((each) => `${each}.`),
    ...(readPaths.length === 0
      ? []
      : [`Besides the workspace it could read ${readPaths.map(quoteForQuestion).join(", ")}.`]),
    `Allow it? It runs in the sandbox. "once" is this call alone, "session" is ${name} with any arguments.`,
  ].join("\n");
};

const explainProgram = (program: string): string =>
  `llmc policy explain run_cmd --program ${/^[\w.+-]+$/.test(program) ? program : "PROGRAM"}`;

const NOT_MIDWAY = "Nobody is asked in the middle of a line: run it by itself";

/** A policy that forbids the file behind a link holds for the link, too. */
const checkRealName = (state: CallState, { program, realName }: ProgramRequest): void => {
  if (realName === program) return;
  check(state, {
    action: START_PROGRAM,
    resource: { type: "Command", id: realName, allowlisted: true, missingPowers: [] },
    key: "",
    question: () => undefined,
    refuse: (decision) => refuseTool(program, decision, explainProgram(realName)),
  });
};

const checkProgram = (state: CallState, tool: Called, request: ProgramRequest): void => {
  const { program, needs, isMidway = false } = request;
  checkRealName(state, request);
  check(state, {
    action: START_PROGRAM,
    resource: {
      type: "Command",
      id: program,
      allowlisted: needs?.path === undefined,
      missingPowers: needs?.powers ?? [],
    },
    key: JSON.stringify([
      "program",
      program,
      needs?.path,
      needs?.realPath,
      needs?.content,
      needs?.readPaths,
      needs?.powers,
    ]),
    question: () => {
      const call = isMidway ? undefined : showCall(tool.name, state.args);
      return call && needs && `${call}\n${describeNeeds(program, needs)}`;
    },
    ...(needs && { allow: [...(needs.path === undefined ? [] : [needs.path]), ...needs.powers] }),
    refuse: (decision) => {
      if (needs === undefined) return refuseTool(program, decision, explainProgram(program));
      return isMidway ? withHint(needs.refusal, NOT_MIDWAY) : needs.refusal;
    },
  });
};

const checkPath = (state: CallState, tool: Called, path: string, refusal: LlmcError): void => {
  const action = actionOf(tool);
  check(state, {
    action,
    resource: { type: "File", id: path, inRoot: false, denied: false, isProtected: false },
    key: `path:${action.group}:${path}`,
    question: () => {
      const call = showCall(tool.name, state.args);
      const where = `${quoteForQuestion(path)} and everything in it, if it is a folder`;
      return call && `${call}\nThat is outside the allowed folders. Allow it to read ${where}?`;
    },
    refuse: () => refusal,
  });
};

/** A call that may go on. */
export interface Authorized<R extends Origin> {
  /** The call as the tool gets it. */
  readonly request: R;
  /** Decides on a path that was refused because it is outside the roots: returns if it may be read all the same. */
  permitPath(path: string, refusal: LlmcError): void;
}

const decideEndpoint = (parts: AuthorizerParts, name: string, caller: Caller): PolicyDecision => {
  const action = endpointOf(name);
  const resource = resourceOf(action, parts.workspace);
  return parts.policy.decide(requestFor(parts, caller, { action, resource }, false));
};

/** Decides on calls by policy, and asks the user where policy leaves the decision to them. */
export const createAuthorizer = (parts: AuthorizerParts) => ({
  /** Throws unless the caller may use the tool. */
  authorize: <R extends Origin>(
    tool: Called,
    request: R,
    args: unknown,
    onDecision: CallState["onDecision"],
  ): Authorized<R> => {
    const call = (): string => parts.digest(JSON.stringify([tool.name, args]));
    const state: CallState = { parts, origin: request, args, call, onDecision, resumed: undefined };
    checkTool(state, tool);
    return {
      request: {
        ...request,
        caller: { ...request.caller, permit: (program) => checkProgram(state, tool, program) },
        // Answers to our own question are none of the tool's.
        ...(ticketOf(request) === undefined ? {} : { state: undefined, answers: undefined }),
      },
      permitPath: (path, refusal) => checkPath(state, tool, path, refusal),
    };
  },
  /** Throws unless the caller may do all of these, which are no tools. Nobody is asked. */
  authorizeEndpoint: (
    names: readonly string[],
    caller: Caller,
    onDecision: (decision: PolicyDecision) => void = () => {},
  ): void => {
    const decided = names.map((name) => ({ name, ...decideEndpoint(parts, name, caller) }));
    const refused = decided.find(({ allowed }) => !allowed);
    const policies = refused?.policies ?? decided.flatMap((one) => one.policies);
    onDecision({ allowed: refused === undefined, policies });
    if (refused !== undefined) throw refuseTool(names[0] ?? refused.name, refused);
  },
  mayUseEndpoint: (name: string, caller: Caller): boolean => decideEndpoint(parts, name, caller).allowed,
  /** Whether a tool could be allowed to this caller at all, if need be by the user. */
  isPossible: (tool: Called, caller: Caller): boolean => {
    const action = actionOf(tool);
    const resource = resourceOf(action, parts.workspace);
    const granted = countsConsent(parts, caller);
    const decision = parts.policy.decide(requestFor(parts, caller, { action, resource }, granted));
    // Without a list no client would call anything, and nobody would learn that a policy file is to be mended.
    return decision.allowed || decision.brokenAt !== undefined;
  },
});

export type Authorizer = ReturnType<typeof createAuthorizer>;
