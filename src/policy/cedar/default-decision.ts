import type { ActionGroup, PolicyDecision, PolicyRequest, PolicyResource } from "./model.ts";
import { RESOURCES } from "./schema.ts";

/** The scope that a token needs for an action of each group. */
const SCOPE: Readonly<Record<ActionGroup, string>> = {
  read: "read",
  write: "write",
  execute: "execute",
  egress: "egress",
  flow: "execute",
  admin: "read",
  metrics: "metrics",
};

const isTool = (group: ActionGroup): boolean => !["flow", "admin", "metrics"].includes(group);

const permitsFor = ({ action: { group }, resource, context }: PolicyRequest): readonly string[] => [
  ...(isTool(group) && (resource.type === "Workspace" || resource.type === "Collection")
    ? ["llmc.workspace"]
    : []),
  ...(resource.type === "File" && (resource.inRoot || context.granted) ? ["llmc.files"] : []),
  ...(group === "execute" && resource.type === "Command" && (isListedCommand(resource) || context.granted)
    ? ["llmc.commands"]
    : []),
  ...(group === "egress" && resource.type === "Host" && (resource.listed || context.granted)
    ? ["llmc.hosts"]
    : []),
  ...(group === "flow" && context.granted ? ["llmc.flows"] : []),
  ...(group === "admin" && context.granted ? ["llmc.admin"] : []),
  ...(group === "metrics" ? ["llmc.metrics"] : []),
];

const isListedCommand = ({
  allowlisted,
  missingPowers,
}: Extract<PolicyResource, { readonly type: "Command" }>): boolean =>
  allowlisted && missingPowers.length === 0;

const forbidsFor = ({
  principal,
  action: { group },
  resource,
  context,
}: PolicyRequest): readonly string[] => [
  ...(principal.scopes.includes(SCOPE[group]) ? [] : [`llmc.scope.${SCOPE[group]}`]),
  ...(resource.type === "File" && resource.denied ? ["llmc.denied"] : []),
  ...((group === "write" || group === "execute") && resource.type === "File" && resource.isProtected
    ? ["llmc.protected"]
    : []),
  ...(group === "egress" && context.airGapped ? ["llmc.air-gap"] : []),
];

/** What nearly every call gets. */
const ORDINARY: PolicyDecision = { allowed: true, policies: ["llmc.workspace"] };

const isOrdinary = ({ principal, action: { group }, resource, context }: PolicyRequest): boolean =>
  resource.type === "Workspace" &&
  isTool(group) &&
  principal.scopes.includes(SCOPE[group]) &&
  !(group === "egress" && context.airGapped);

/**
 * What the default policies decide, without Cedar: a server whose operator has no policies of their own neither loads the
 * engine (20 ms and 40 MB) nor waits for it. A test compares the two on random requests.
 */
export const decideByDefault = (request: PolicyRequest, isOpen: boolean): PolicyDecision => {
  if (!isOpen && isOrdinary(request)) return ORDINARY;
  if (!RESOURCES[request.action.group].includes(request.resource.type))
    return { allowed: false, policies: [] };
  const forbids = forbidsFor(request);
  if (forbids.length > 0) return { allowed: false, policies: forbids };
  const permits = [...permitsFor(request), ...(isOpen ? ["llmc.open"] : [])];
  return { allowed: permits.length > 0, policies: permits };
};
