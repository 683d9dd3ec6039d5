import type { ActionGroup, PolicyDecision, PolicyRequest, PolicyResource } from "./model.ts";

/** Each needs the scope of its name; `admin` and `kb` are families, whose tools have an effect besides. */
const SCOPED: ReadonlySet<ActionGroup> = new Set(["read", "write", "execute", "egress", "metrics"]);
const EFFECTS: ReadonlySet<ActionGroup> = new Set(["read", "write", "execute", "egress"]);

const isListedCommand = ({
  allowlisted,
  missing_powers,
}: Extract<PolicyResource, { readonly type: "Command" }>): boolean =>
  allowlisted && missing_powers.length === 0;

const permitsFor = ({ action: { groups }, resource, context }: PolicyRequest): readonly string[] => {
  const isIn = (group: ActionGroup): boolean => groups.includes(group);
  return [
    ...(resource.type === "Workspace" && groups.some((group) => EFFECTS.has(group))
      ? ["llmc.workspace"]
      : []),
    ...(isIn("read") && resource.type === "File" && context.granted ? ["llmc.files"] : []),
    ...(isIn("execute") && resource.type === "Command" && (isListedCommand(resource) || context.granted)
      ? ["llmc.commands"]
      : []),
    ...(isIn("egress") && resource.type === "Host" && resource.listed ? ["llmc.hosts"] : []),
    ...(isIn("kb") && resource.type === "Collection" ? ["llmc.collections"] : []),
    ...(isIn("kb") && resource.type === "Flow" && context.granted ? ["llmc.flows"] : []),
    ...(isIn("admin") && context.granted ? ["llmc.admin"] : []),
    ...(isIn("metrics") ? ["llmc.metrics"] : []),
  ];
};

const forbidsFor = ({
  principal,
  action: { groups },
  resource,
  context,
}: PolicyRequest): readonly string[] => [
  ...groups
    .filter((group) => SCOPED.has(group) && !principal.scopes.includes(group))
    .map((group) => `llmc.scope.${group}`),
  ...(groups.includes("egress") && resource.type === "Host" && context.air_gapped && !resource.local
    ? ["llmc.air-gap"]
    : []),
];

/** What nearly every call gets. */
const ORDINARY: PolicyDecision = { allowed: true, policies: ["llmc.workspace"] };

const isOrdinary = ({ principal, action: { groups, about }, resource }: PolicyRequest): boolean => {
  const [effect] = groups;
  return (
    resource.type === "Workspace" &&
    effect !== undefined &&
    groups.length === 1 &&
    EFFECTS.has(effect) &&
    about.includes("Workspace") &&
    principal.scopes.includes(effect)
  );
};

/**
 * What the default policies decide, without Cedar: a server whose operator has no policies of their own neither loads the
 * engine (20 ms and 40 MB) nor waits for it. A test compares the two on random requests.
 */
export const decideByDefault = (request: PolicyRequest, isOpen: boolean): PolicyDecision => {
  if (!isOpen && isOrdinary(request)) return ORDINARY;
  const { action, resource } = request;
  if (!action.about.includes(resource.type))
    return {
      allowed: false,
      policies: [],
      failure: `${action.name} is not decided on with a ${resource.type}`,
    };
  const forbids = forbidsFor(request);
  if (forbids.length > 0) return { allowed: false, policies: forbids };
  const permits = [...permitsFor(request), ...(isOpen ? ["llmc.open"] : [])];
  return { allowed: permits.length > 0, policies: permits };
};
