import type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { isDefaultPolicy } from "./default-policies.ts";
import { LABELS, type PolicyAction, RESOURCES, type ResourceType } from "./model.ts";

const isUnconditional = ({ effect, principal, action, resource, conditions }: PolicyJson): boolean =>
  effect === "permit" &&
  [principal, action, resource].every(({ op }) => op === "All") &&
  conditions.every(({ kind, body }) => "Value" in body && body.Value === (kind === "when"));

/** What clients say of themselves. */
const GIVEN_BY_CLIENTS = new RegExp(`"(?:${Object.values(LABELS).join("|")})"|"attr":"profile"`);

const idOf = (entity: { readonly id?: string; readonly __entity?: { readonly id: string } }): string =>
  entity.id ?? entity.__entity?.id ?? "";

const actionsOf = ({ action }: PolicyJson, actions: readonly PolicyAction[]): readonly PolicyAction[] => {
  if (action.op === "All") return actions;
  const named =
    "entities" in action ? action.entities.map(idOf) : "entity" in action ? [idOf(action.entity)] : [];
  return actions.filter(({ name, groups }) =>
    named.some((one) => one === name || groups.some((group) => group === one)),
  );
};

const isResourceType = (type: string): type is ResourceType => Object.hasOwn(RESOURCES, type);

/** The type that the scope of a policy names; undefined for all. */
const typeOf = ({ resource }: PolicyJson): string | undefined => {
  if (resource.op === "is") return resource.entity_type;
  if (resource.op !== "==" || !("entity" in resource)) return undefined;
  const { entity } = resource;
  return "type" in entity ? entity.type : entity.__entity.type;
};

const listed = (names: readonly string[]): string => [...new Set(names)].join(", ");

/** Of a policy that no request fits: what its actions are decided on with, and what its resource is decided on by. */
const neverAsked = (json: PolicyJson, actions: readonly PolicyAction[]): string | undefined => {
  const type = typeOf(json);
  const named = actionsOf(json, actions);
  if (type === undefined || !isResourceType(type) || named.length === 0) return undefined;
  if (named.some(({ about }) => about.includes(type))) return undefined;
  const others = actions.filter(({ about }) => about.includes(type));
  const by =
    others.length > 5
      ? listed(others.flatMap(({ groups }) => groups))
      : listed(others.map(({ name }) => name));
  return `this never applies: no request has this pair of action and resource; a ${type} is decided on by ${by}, and the action it names with ${listed(named.flatMap(({ about }) => about))}`;
};

const FILES = /"(?:entity_)?type":"File"/;

interface Remarks {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** No request has its pair of action and resource. */
  readonly isNeverAsked: boolean;
}

/** What is wrong with a policy that Cedar itself accepts, and what its author should know. */
export const remarksOn = (json: PolicyJson, id: string, actions: readonly PolicyAction[]): Remarks => {
  const never = neverAsked(json, actions);
  return {
    isNeverAsked: never !== undefined,
    problems: [
      ...(isDefaultPolicy(id)
        ? [`the id "${id}" is reserved: ids that begin with llmc. are llmc's own`]
        : []),
      ...(isUnconditional(json)
        ? [
            "this permits everything to everybody: name a principal, an action or a resource, or add a condition (mcp.security.default_deny = false is the way to permit what nothing forbids)",
          ]
        : []),
    ],
    warnings: [
      ...(json.effect === "permit" && GIVEN_BY_CLIENTS.test(JSON.stringify(json))
        ? [
            "Agent, Session and context.profile are labels that clients choose: whoever claims one gets what this permits",
          ]
        : []),
      ...(never === undefined ? [] : [never]),
      // Nobody expects a policy that permits something to protect a file.
      ...(never === undefined && json.effect === "forbid" && FILES.test(JSON.stringify(json.resource))
        ? [
            "only paths outside the roots are decided on by policy: what may be reached inside is up to mcp.tools.allowed_roots and denylist_globs",
          ]
        : []),
    ],
  };
};
