import type {
  DetailedError,
  EntityJson,
  policySetTextToParts,
  policyToJson,
  preparsePolicySet,
  preparseSchema,
  statefulIsAuthorized,
  validate,
} from "@cedar-policy/cedar-wasm/nodejs";
import { type LocatedPolicy, locatePolicies } from "./cedar-text.ts";
import { DEFAULT_POLICIES, OPEN_POLICY } from "./default-policies.ts";
import type { PolicyAction, PolicyDecision, PolicyRequest, PolicyResource } from "./model.ts";
import { remarksOn } from "./remarks.ts";
import { policySchema } from "./schema.ts";

/** The functions of Cedar's WebAssembly that are used here. */
export interface Cedar {
  readonly preparsePolicySet: typeof preparsePolicySet;
  readonly preparseSchema: typeof preparseSchema;
  readonly policySetTextToParts: typeof policySetTextToParts;
  readonly policyToJson: typeof policyToJson;
  readonly statefulIsAuthorized: typeof statefulIsAuthorized;
  readonly validate: typeof validate;
}

export interface PolicyFile {
  /** As people know it: a path. */
  readonly name: string;
  readonly text: string;
  /** A workspace's own file may only forbid until the operator trusts it. */
  readonly mayPermit: boolean;
}

/** Something that is wrong with a policy file, or that its author should know. */
export interface PolicyProblem {
  readonly file: string;
  /** From 1; 0 where the whole file is meant. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** One policy of an operator or a workspace. */
export interface LoadedPolicy {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly effect: "permit" | "forbid";
  readonly annotations: Readonly<Record<string, string>>;
  /** A permit of a file that may only forbid: it has no effect yet. */
  readonly waits: boolean;
}

export interface CompiledPolicies {
  readonly policies: readonly LoadedPolicy[];
  readonly warnings: readonly PolicyProblem[];
  decide(request: PolicyRequest): PolicyDecision;
}

export type Compilation =
  | { readonly ok: true; readonly compiled: CompiledPolicies }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

const positionIn = (text: string, offset: number): Pick<PolicyProblem, "line" | "column"> => {
  // Cedar counts bytes of UTF-8.
  const before = Buffer.from(text).subarray(0, offset).toString();
  const lines = before.split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
};

const problemIn =
  ({ name, text }: PolicyFile) =>
  ({ message, help, sourceLocations }: DetailedError): PolicyProblem => {
    const [at] = sourceLocations ?? [];
    const detail = [at?.label, help].filter((part) => typeof part === "string" && part !== "");
    return {
      file: name,
      ...(at === undefined ? { line: 0, column: 0 } : positionIn(text, at.start)),
      message: [message.replace(/^for policy `[^`]*`, /, ""), ...detail].join("; "),
    };
  };

interface ParsedPolicy extends LoadedPolicy {
  readonly text: string;
  /** Its place, which names it where it has no id of its own. */
  readonly position: string;
  readonly mayPermit: boolean;
}

interface Parsed {
  readonly policies: readonly ParsedPolicy[];
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
}

/** Ids stand in refusals, logs and the audit. */
const POLICY_ID = /^[\w.:/#@+-]{1,100}$/;

const BAD_ID = "an id is a text of up to 100 letters, digits and the signs _ . : / # @ + -";

const parseOne = (
  cedar: Cedar,
  file: PolicyFile,
  { text, start }: LocatedPolicy,
  number: number,
): {
  readonly policy?: ParsedPolicy;
  readonly problems: PolicyProblem[];
  readonly warnings: PolicyProblem[];
} => {
  const at = {
    file: file.name,
    ...positionIn(file.text, Buffer.byteLength(file.text.slice(0, start))),
  };
  const answer = cedar.policyToJson(text);
  if (answer.type === "failure") return { problems: answer.errors.map(problemIn(file)), warnings: [] };
  const { json } = answer;
  const annotations = json.annotations ?? {};
  // An annotation may have no value.
  const position = `${file.name}#${number}`;
  const { id = position } = annotations as Readonly<Record<string, string | null>>;
  if (id === null || ("id" in annotations && !POLICY_ID.test(id)))
    return { problems: [{ ...at, message: BAD_ID }], warnings: [] };
  const { problems, warnings } = remarksOn(json, id);
  const waits = json.effect === "permit" && !file.mayPermit;
  return {
    policy: {
      id,
      position,
      file: file.name,
      line: at.line,
      effect: json.effect,
      annotations,
      waits,
      text,
      mayPermit: file.mayPermit,
    },
    problems: problems.map((message) => ({ ...at, message })),
    warnings: warnings.map((message) => ({ ...at, message })),
  };
};

const parseFile = (cedar: Cedar, schema: string, file: PolicyFile): Parsed => {
  const whole = { file: file.name, line: 0, column: 0 };
  const parts = cedar.policySetTextToParts(file.text);
  if (parts.type === "failure")
    return { policies: [], problems: parts.errors.map(problemIn(file)), warnings: [] };
  if (parts.policy_templates.length > 0)
    return { policies: [], problems: [{ ...whole, message: "templates are not supported" }], warnings: [] };
  if (parts.policies.length === 0)
    return {
      policies: [],
      problems: [{ ...whole, message: "the file holds no policy; remove it if none is meant" }],
      warnings: [],
    };
  const inOrder = locatePolicies(file.text, parts.policies);
  const parsed = inOrder.map((policy, at) => parseOne(cedar, file, policy, at + 1));
  const answer = cedar.validate({ schema, policies: { staticPolicies: file.text } });
  const found =
    answer.type === "failure"
      ? { problems: answer.errors.map(problemIn(file)), warnings: [] }
      : {
          problems: answer.validationErrors.map(({ error }) => problemIn(file)(error)),
          warnings: answer.validationWarnings.map(({ error }) => problemIn(file)(error)),
        };
  return {
    policies: parsed.flatMap(({ policy }) => policy ?? []),
    problems: [...parsed.flatMap(({ problems }) => problems), ...found.problems],
    warnings: [...parsed.flatMap(({ warnings }) => warnings), ...found.warnings],
  };
};

/** An id that a workspace takes from the operator is not its own: its policy is known by its place. */
const withOwnIds = (policies: readonly ParsedPolicy[]): readonly ParsedPolicy[] => {
  const operators = new Set(policies.filter(({ mayPermit }) => mayPermit).map(({ id }) => id));
  return policies.map((policy) =>
    !policy.mayPermit && operators.has(policy.id) ? { ...policy, id: policy.position } : policy,
  );
};

const findDuplicates = (policies: readonly ParsedPolicy[]): readonly PolicyProblem[] => {
  const seen = new Map<string, ParsedPolicy>();
  return policies.flatMap((policy) => {
    const first = seen.get(policy.id);
    seen.set(policy.id, first ?? policy);
    return first === undefined
      ? []
      : [
          {
            file: policy.file,
            line: policy.line,
            column: 1,
            message: `the id "${policy.id}" is taken by ${first.file}:${first.line}`,
          },
        ];
  });
};

const attributesOf = (resource: PolicyResource): EntityJson["attrs"] => {
  switch (resource.type) {
    case "File":
      return { in_root: resource.inRoot, denied: resource.denied, protected: resource.isProtected };
    case "Command":
      return { allowlisted: resource.allowlisted, missing_powers: [...resource.missingPowers] };
    case "Host":
      return { listed: resource.listed };
    default:
      return {};
  }
};

/** Entities cannot be kept by Cedar, so each call passes the two that matter. */
const entitiesOf = ({ principal, resource }: PolicyRequest): EntityJson[] => [
  {
    uid: { type: "Principal", id: principal.id },
    attrs: { scopes: [...principal.scopes], transport: principal.transport },
    parents: [
      { type: "Agent", id: principal.agent },
      { type: "Session", id: principal.session },
    ],
  },
  { uid: { type: resource.type, id: resource.id }, attrs: attributesOf(resource), parents: [] },
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
      context: {
        mode: context.mode,
        profile: context.profile,
        air_gapped: context.airGapped,
        granted: context.granted,
      },
      preparsedSchemaName: slot,
      validateRequest: true,
      preparsedPolicySetId: slot,
      entities: entitiesOf(request),
    });
    if (answer.type === "failure") return { allowed: false, policies: [] };
    const { decision, diagnostics } = answer.response;
    if (diagnostics.errors.length > 0)
      return { allowed: false, policies: diagnostics.errors.map(({ policyId }) => policyId) };
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
  const parsed = files.map((file) => parseFile(cedar, schema, file));
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
