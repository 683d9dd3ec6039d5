import type {
  DetailedError,
  policySetTextToParts,
  policyToJson,
  preparsePolicySet,
  preparseSchema,
  statefulIsAuthorized,
  validate,
} from "@cedar-policy/cedar-wasm/nodejs";
import { type LocatedPolicy, locatePolicies } from "./cedar-text.ts";
import type { PolicyAction } from "./model.ts";
import { findTooDeep, TOO_DEEP } from "./nesting.ts";
import { type PolicyProblem, positionOf, positionOfPolicy } from "./positions.ts";
import { remarksOn } from "./remarks.ts";

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

/** One policy of an operator or a workspace. */
export interface LoadedPolicy {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly effect: "permit" | "forbid";
  /** What the user is asked where it leaves the decision to them. No workspace phrases a question before it is trusted. */
  readonly prompt: string | undefined;
  /** A permit of a file that may only forbid: it has no effect yet. */
  readonly waits: boolean;
}

const positionIn = (text: string, offset: number): Pick<PolicyProblem, "line" | "column"> => {
  // Cedar counts bytes of UTF-8.
  const before = Buffer.from(text).subarray(0, offset).toString();
  const lines = before.split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
};

/** The same of a position in UTF-16 units. */
const positionAt = (text: string, at: number): Pick<PolicyProblem, "line" | "column"> =>
  positionIn(text, Buffer.byteLength(text.slice(0, at)));

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

export interface ParsedPolicy extends LoadedPolicy {
  readonly text: string;
  /** Its place, which names it where it has no id of its own. */
  readonly position: string;
  readonly mayPermit: boolean;
}

export interface Parsed {
  readonly policies: readonly ParsedPolicy[];
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
}

/** Ids stand in refusals, logs and the audit. */
const POLICY_ID = /^[\w.:/#@+-]{1,100}$/;

const BAD_ID = "an id is a text of up to 100 letters, digits and the signs _ . : / # @ + -";

interface ParsedOne {
  readonly policy?: ParsedPolicy;
  readonly problems: readonly PolicyProblem[];
  readonly warnings: readonly PolicyProblem[];
  readonly isNeverAsked?: boolean;
}

const parseOne = (
  cedar: Cedar,
  actions: readonly PolicyAction[],
  file: PolicyFile,
  { text, start }: LocatedPolicy,
  number: number,
): ParsedOne => {
  const at = {
    file: file.name,
    ...positionAt(file.text, start),
  };
  const answer = cedar.policyToJson(text);
  if (answer.type === "failure") return { problems: answer.errors.map(problemIn(file)), warnings: [] };
  const { json } = answer;
  // An annotation may have no value.
  const annotations = (json.annotations ?? {}) as Readonly<Record<string, string | null>>;
  const position = positionOfPolicy(file.name, number);
  const { id = position, prompt } = annotations;
  if (id === null || ("id" in annotations && !POLICY_ID.test(id)))
    return { problems: [{ ...at, message: BAD_ID }], warnings: [] };
  const { problems, warnings, isNeverAsked } = remarksOn(json, id, actions);
  const waits = json.effect === "permit" && !file.mayPermit;
  return {
    policy: {
      id,
      position,
      file: file.name,
      line: at.line,
      effect: json.effect,
      prompt: file.mayPermit ? (prompt ?? undefined) : undefined,
      waits,
      text,
      mayPermit: file.mayPermit,
    },
    problems: problems.map((message) => ({ ...at, message })),
    warnings: warnings.map((message) => ({ ...at, message })),
    isNeverAsked,
  };
};

/** Cedar says twice of a policy that nothing fits that it cannot apply; ours says why. */
const DUPLICATE = "unable to find an applicable action";
const IMPOSSIBLE = /policy is impossible: .*/;
const NEVER_APPLIES = "this never applies: no request can fulfil it";

type Warnings = Extract<ReturnType<Cedar["validate"]>, { readonly type: "success" }>["validationWarnings"];

const warningsOf = (found: Warnings, file: PolicyFile, parsed: readonly ParsedOne[]): PolicyProblem[] =>
  found
    // Cedar numbers the policies of a text in their order.
    .filter(({ policyId }) => parsed[Number(policyId.replace("policy", ""))]?.isNeverAsked !== true)
    .filter(({ error }) => !error.message.includes(DUPLICATE))
    .map(({ error }) =>
      problemIn(file)({ ...error, message: error.message.replace(IMPOSSIBLE, NEVER_APPLIES) }),
    );

export const parseFile = (
  cedar: Cedar,
  actions: readonly PolicyAction[],
  schema: string,
  file: PolicyFile,
): Parsed => {
  const whole = { file: file.name, line: 0, column: 0 };
  const deep = findTooDeep(file.text);
  if (deep !== undefined)
    return {
      policies: [],
      problems: [{ file: file.name, ...positionAt(file.text, deep), message: TOO_DEEP }],
      warnings: [],
    };
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
  const parsed = inOrder.map((policy, at) => parseOne(cedar, actions, file, policy, at + 1));
  const answer = cedar.validate({ schema, policies: { staticPolicies: file.text } });
  const found =
    answer.type === "failure"
      ? { problems: answer.errors.map(problemIn(file)), warnings: [] }
      : {
          problems: answer.validationErrors.map(({ error }) => problemIn(file)(error)),
          warnings: warningsOf(answer.validationWarnings, file, parsed),
        };
  return {
    policies: parsed.flatMap(({ policy }) => policy ?? []),
    problems: [...parsed.flatMap(({ problems }) => problems), ...found.problems],
    warnings: [...parsed.flatMap(({ warnings }) => warnings), ...found.warnings],
  };
};

/** An id that a workspace takes from the operator is not its own: its policy is known by its place. */
export const withOwnIds = (policies: readonly ParsedPolicy[]): readonly ParsedPolicy[] => {
  const operators = new Set(policies.filter(({ mayPermit }) => mayPermit).map(({ id }) => id));
  return policies.map((policy) =>
    !policy.mayPermit && operators.has(policy.id) ? { ...policy, id: policy.position } : policy,
  );
};

export const findDuplicates = (policies: readonly ParsedPolicy[]): readonly PolicyProblem[] => {
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
            message: `the id "${policy.id}" is taken by ${positionOf({ file: first.file, line: first.line })}`,
          },
        ];
  });
};
