import { posix } from "node:path";
import type { EntityJson } from "@cedar-policy/cedar-wasm/nodejs";
import { DEFAULT_POLICIES, OPEN_POLICY } from "./default-policies.ts";
import { type CedarInstance, createInstance } from "./instance.ts";
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
  type Parsed,
  type ParsedPolicy,
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

/** Cedar keeps a schema and a set of policies under a name; an instance of ours has one of each. */
const NAME = "llmc";

const ask = (cedar: Cedar, request: PolicyRequest): PolicyDecision => {
  const { principal, action, resource, context } = request;
  const answer = cedar.statefulIsAuthorized({
    principal: { type: "Principal", id: principal.id },
    action: { type: "Action", id: action.name },
    resource: { type: resource.type, id: resource.id },
    context: attributesIn(CONTEXT, context),
    preparsedSchemaName: NAME,
    validateRequest: true,
    preparsedPolicySetId: NAME,
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

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Anything that goes wrong in Cedar denies: a forbid that cannot be evaluated must not be passed over. */
const decideIn =
  (instance: CedarInstance) =>
  (request: PolicyRequest): PolicyDecision => {
    try {
      return instance.run((cedar) => ask(cedar, request));
    } catch (error) {
      return { allowed: false, policies: [], failure: messageOf(error) };
    }
  };

const named = (cedar: Cedar, text: string): Readonly<Record<string, string>> => {
  const parts = cedar.policySetTextToParts(text);
  if (parts.type === "failure") throw new Error("the default policies cannot be parsed");
  return Object.fromEntries(
    parts.policies.map((policy) => [/@id\("([^"]+)"\)/.exec(policy)?.[1] ?? "", policy]),
  );
};

interface CompileOptions {
  readonly actions: readonly PolicyAction[];
  readonly files: readonly PolicyFile[];
  /** `mcp.security.default_deny`. */
  readonly defaultDeny: boolean;
}

/** What Cedar throws is the problem of the text that it was given. */
const failedOn =
  (error: unknown) =>
  ({ name }: PolicyFile): PolicyProblem => ({
    file: name,
    line: 0,
    column: 0,
    message: `Cedar cannot process it: ${messageOf(error)}`,
  });

const parseIn = (
  instance: CedarInstance,
  actions: readonly PolicyAction[],
  schema: string,
  file: PolicyFile,
): Parsed => {
  try {
    return instance.run((cedar) => parseFile(cedar, actions, schema, file));
  } catch (error) {
    return { policies: [], problems: [failedOn(error)(file)], warnings: [] };
  }
};

const putInForce = (
  cedar: Cedar,
  schema: string,
  policies: readonly ParsedPolicy[],
  defaultDeny: boolean,
): void => {
  const staticPolicies = {
    ...named(cedar, DEFAULT_POLICIES),
    ...(defaultDeny ? {} : named(cedar, OPEN_POLICY)),
    ...Object.fromEntries(policies.filter(({ waits }) => !waits).map(({ id, text }) => [id, text])),
  };
  for (const answer of [
    cedar.preparseSchema(NAME, schema),
    cedar.preparsePolicySet(NAME, { staticPolicies }),
  ])
    if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
};

/**
 * Validates the files and makes a decision of them and the default policies. `load` gives a new instance of Cedar each
 * time: what was compiled before stays as it is, whatever becomes of these files.
 */
export const compilePolicies = (
  load: () => Cedar,
  { actions, files, defaultDeny }: CompileOptions,
): Compilation => {
  const schema = policySchema(actions);
  const [instance, untrusted] = [createInstance(load), createInstance(load)];
  const parsed = files.map((file) => parseIn(file.mayPermit ? instance : untrusted, actions, schema, file));
  const policies = withOwnIds(parsed.flatMap((one) => one.policies));
  const problems = [...parsed.flatMap((one) => one.problems), ...findDuplicates(policies)];
  if (problems.length > 0) return { ok: false, problems };
  try {
    instance.prepare((cedar) => putInForce(cedar, schema, policies, defaultDeny));
  } catch (error) {
    const untrustedFiles = files.filter(({ mayPermit }) => !mayPermit);
    return { ok: false, problems: (untrustedFiles.length > 0 ? untrustedFiles : files).map(failedOn(error)) };
  }
  return {
    ok: true,
    compiled: {
      policies: policies.map(
        ({ text: _text, position: _position, mayPermit: _mayPermit, ...policy }) => policy,
      ),
      warnings: parsed.flatMap((one) => one.warnings),
      decide: decideIn(instance),
    },
  };
};
