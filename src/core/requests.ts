import type {
  PolicyAction,
  PolicyContext,
  PolicyRequest,
  PolicyResource,
  ResourceType,
} from "../policy/cedar/model.ts";
import { isThisMachine } from "../policy/egress.ts";
import type { GrantedPath, HostRequest, ProgramRequest } from "../policy/permit.ts";
import { type Caller, principalName } from "../tools/contract.ts";
import type { Tool } from "../tools/tool.ts";

/** What is called; a tool is one. */
export type Called = Pick<Tool, "name" | "effect" | "family">;

/**
 * What tools are decided on with: only what reads reaches beyond the roots, admin tools have the server itself, and those
 * of knowledge bases the collections and flows that a call names.
 */
const aboutOf = ({ effect, family }: Called): readonly ResourceType[] => {
  if (family === "admin") return ["Server"];
  if (family === "kb") return ["Workspace", "Collection", "Flow"];
  return effect === "read" ? ["Workspace", "File"] : ["Workspace"];
};

export const actionOf = (tool: Called): PolicyAction => ({
  name: tool.name,
  groups: tool.family === undefined ? [tool.effect] : [tool.effect, tool.family],
  about: aboutOf(tool),
});

/** What ports decide on while a tool runs. */
const START_PROGRAM: PolicyAction = { name: "start_program", groups: ["execute"], about: ["Command"] };

/** What a command line does to files by itself: redirections, patterns, built-in commands. */
const IN_LINE = {
  read: { name: "read_in_line", groups: ["read"], about: ["Workspace"] },
  write: { name: "write_in_line", groups: ["write"], about: ["Workspace"] },
} as const satisfies Record<string, PolicyAction>;

/** The text goes to a model, which may be remote and cost money: once as a whole, and then to its host. */
const ASK_MODEL: PolicyAction = { name: "ask_model", groups: ["egress"], about: ["Workspace", "Host"] };

const reading = (name: string): PolicyAction => ({ name, groups: ["read"], about: ["Workspace"] });

/** Everything that policies decide on and that is not a tool. */
export const OTHER_ACTIONS: readonly PolicyAction[] = [
  START_PROGRAM,
  IN_LINE.read,
  IN_LINE.write,
  reading("resources/read"),
  reading("prompts/get"),
  reading("completion/complete"),
  reading("rag_bootload"),
  reading("invoke_agent"),
  ASK_MODEL,
  { name: "read_metrics", groups: ["metrics"], about: ["Server"] },
];

/** What is decided: an action on a resource, and on what is the same thing under another name. */
export interface Subject {
  readonly action: PolicyAction;
  readonly resources: readonly [PolicyResource, ...PolicyResource[]];
}

/** An action as a whole, before it is known what else it comes to. */
export const wholeSubject = (action: PolicyAction, workspace: string): Subject => ({
  action,
  resources: [
    action.about[0] === "Server" ? { type: "Server", id: "llmc" } : { type: "Workspace", id: workspace },
  ],
});

export const endpointSubject = (name: string, workspace: string): Subject => {
  const action = OTHER_ACTIONS.find((one) => one.name === name);
  if (action === undefined) throw new Error(`${name} is not among the actions of policy`);
  return wholeSubject(action, workspace);
};

/** A policy that forbids the file behind a link holds for the link, too. */
export const programSubject = ({ program, realName, needs }: ProgramRequest): Subject => {
  const command = (id: string): PolicyResource => ({
    type: "Command",
    id,
    allowlisted: needs?.path === undefined,
    missing_powers: needs?.powers ?? [],
  });
  return {
    action: START_PROGRAM,
    resources: realName === program ? [command(program)] : [command(program), command(realName)],
  };
};

export const lineSubject = (effect: keyof typeof IN_LINE, workspace: string): Subject =>
  wholeSubject(IN_LINE[effect], workspace);

/** A path outside the roots: what has to be permitted is where it leads. A policy that forbids its name holds as well. */
export const pathSubject = (action: PolicyAction, { path, realPath }: GrantedPath): Subject => {
  const file = (id: string): PolicyResource => ({ type: "File", id });
  return {
    action,
    resources: realPath === path ? [file(realPath)] : [file(realPath), file(path)],
  };
};

/** A knowledge base or a flow that a call names. */
export const knowledgeSubject = (action: PolicyAction, type: "Collection" | "Flow", id: string): Subject => ({
  action,
  resources: [{ type, id }],
});

export const hostSubject = ({ host, refusal }: HostRequest): Subject => ({
  action: ASK_MODEL,
  resources: [{ type: "Host", id: host, listed: refusal === undefined, local: isThisMachine(host) }],
});

/** The one way in which requests come about: for calls, for lists, and where somebody wants to know beforehand. */
export const requestsFor = (
  { action, resources: [first, ...others] }: Subject,
  caller: Pick<Caller, "principal" | "may" | "transport" | "agentId" | "sessionId">,
  context: PolicyContext,
): readonly [PolicyRequest, ...PolicyRequest[]] => {
  const about = (resource: PolicyResource): PolicyRequest => ({
    principal: {
      id: principalName(caller.principal),
      scopes: [...caller.may],
      transport: caller.transport,
      agent: caller.agentId,
      session: caller.sessionId,
    },
    action,
    resource,
    context,
  });
  return [about(first), ...others.map(about)];
};
