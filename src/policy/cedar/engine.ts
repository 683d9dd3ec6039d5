import { posix } from "node:path";
import type { EntityJson } from "@cedar-policy/cedar-wasm/nodejs";
import { DEFAULT_POLICIES, OPEN_POLICY } from "./default-policies.ts";
import {
  CONTEXT,
  LABELS,
  type PolicyAction,
  type PolicyDecision,
  type PolicyRequest,
  PRINCIPAL,
  RESOURCES,
} from "./model.ts";
import {
  type Cedar,
  findDuplicates,
  type LoadedPolicy,
  type PolicyFile,
  parseFile,
  withOwnIds,
} from "./policy-file.ts";
import type { PolicyProblem } from "./positions.ts";
import { attributesIn, policySchema } from "./schema.ts";

export interface CompiledPolicies {
  readonly policies: readonly LoadedPolicy[];
  readonly warnings: readonly PolicyProblem[];
  decide(request: PolicyRequest): PolicyDecision;
}

export type Compilation =
  | { readonly ok: true; readonly compiled: CompiledPolicies }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

const LABEL_NAMES = Object.keys(LABELS) as readonly (keyof typeof LABELS)[];

/** What a policy names with `in`: a folder, with everything in it. */
const foldersAbove = (path: string): readonly string[] => {
  const above = posix.dirname(path);
  return above === path || !path.startsWith("/") ? [] : [above, ...foldersAbove(above)];
};

/** Entities cannot be kept by Cedar, so each call passes the two that matter. */
const entitiesOf = ({ principal, resource }: PolicyRequest): EntityJson[] => [
  {
    uid: { type: "Principal", id: principal.id },
    attrs: attributesIn(PRINCIPAL, principal),
    parents: LABEL_NAMES.map((label) => ({ type: LABELS[label], id: principal[label] })),
  },
  {
    uid: { type: resource.type, id: resource.id },
    attrs: attributesIn(RESOURCES[resource.type], resource),
    parents: resource.type === "File" ? foldersAbove(resource.id).map((id) => ({ type: "File", id })) : [],
  },
];

/** Anything that goes wrong in Cedar denies: a forbid that cannot be evaluated must not be passed over. */
const decideWith =
  (cedar: Cedar, slot: string) =>
  (request: PolicyRequest): PolicyDecision => {
    const { principal, action, resource, context } = request;
    const answer = cedar.statefulIsAuthorized({
      principal: { type: "Principal", id: principal.id },
      action: { type: "Action", id: action.name },
      resource: { type: resource.type, id: resource.id },
      context: attributesIn(CONTEXT, context),
      preparsedSchemaName: slot,
      validateRequest: true,
      preparsedPolicySetId: slot,
      entities: entitiesOf(request),
    });
    if (answer.type === "failure")
      return {
        allowed: false,
        policies: [],
        failure: answer.errors.map(({ message }) => message).join("; "),
      };
    const { decision, diagnostics } = answer.response;
    if (diagnostics.errors.length > 0)
      return {
        allowed: false,
        policies: diagnostics.errors.map(({ policyId }) => policyId),
        failure: diagnostics.errors.map(({ error }) => error.message).join("; "),
      };
    return { allowed: decision === "allow", policies: diagnostics.reason };
  };

const named = (cedar: Cedar, text: string): Readonly<Record<string, string>> => {
  const parts = cedar.policySetTextToParts(text);
  if (parts.type === "failure") throw new Error("the default policies cannot be parsed");
  return Object.fromEntries(
    parts.policies.map((policy) => [/@id\("([^"]+)"\)/.exec(policy)?.[1] ?? "", policy]),
  );
};

interface CompileOptions {
  /** Cedar keeps one schema and one policy set under this name; the next ones under the same name replace them. */
  readonly slot: string;
  readonly actions: readonly PolicyAction[];
  readonly files: readonly PolicyFile[];
  /** `mcp.security.default_deny`. */
  readonly defaultDeny: boolean;
}

/** Validates the files and puts them in force together with the default policies; on an error in one of them nothing changes. */
export const compilePolicies = (
  cedar: Cedar,
  { slot, actions, files, defaultDeny }: CompileOptions,
): Compilation => {
  const schema = policySchema(actions);
  const parsed = files.map((file) => parseFile(cedar, actions, schema, file));
  const policies = withOwnIds(parsed.flatMap((one) => one.policies));
  const problems = [...parsed.flatMap((one) => one.problems), ...findDuplicates(policies)];
  if (problems.length > 0) return { ok: false, problems };
  const staticPolicies = {
    ...named(cedar, DEFAULT_POLICIES),
    ...(defaultDeny ? {} : named(cedar, OPEN_POLICY)),
    ...Object.fromEntries(policies.filter(({ waits }) => !waits).map(({ id, text }) => [id, text])),
  };
  for (const answer of [
    cedar.preparseSchema(slot, schema),
    cedar.preparsePolicySet(slot, { staticPolicies }),
  ])
    if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  return {
    ok: true,
    compiled: {
      policies: policies.map(
        ({ text: _text, position: _position, mayPermit: _mayPermit, ...policy }) => policy,
      ),
      warnings: parsed.flatMap((one) => one.warnings),
      decide: decideWith(cedar, slot),
    },
  };
};
