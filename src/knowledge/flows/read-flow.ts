import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";
import { isName } from "../api/ids.ts";
import { type Flow, type FlowInput, type FlowStep, referencesIn } from "./flow.ts";

const MAX_STEPS = 50;
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 300_000;
const STEP_ID = /^[A-Za-z0-9_-]{1,40}$/;
const TYPES = ["string", "number", "boolean"] as const;

const FLOW_KEYS = ["id", "description", "inputs", "steps"];
const INPUT_KEYS = ["type", "required", "default", "description"];
/** Keys of a step besides those of its kind. */
const COMMON = ["id", "kind", "needs", "when", "for_each", "timeout_ms"];
const KINDS: Readonly<Record<string, readonly string[]>> = {
  kb: ["collection", "query", "top_k", "filters"],
  answer: ["query", "filters", "model"],
  tool: ["tool", "args"],
};

/** A declaration as its file has it. */
export interface FlowText {
  /** Of the file. */
  readonly name: string;
  readonly text: string;
  /** What the text was parsed to. */
  readonly value: unknown;
}

/** What the input schema of a tool says against arguments. */
export interface ArgumentIssue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
  /** There is no such field, whatever its value. */
  readonly isUnknownKey: boolean;
}

/** Checks the arguments of a step against the tool's input schema; undefined: there is no such tool. */
export type CheckArguments = (tool: string, args: unknown) => Promise<readonly ArgumentIssue[] | undefined>;

type Fail = (why: string, step?: string) => LlmcError;

/** The line where a step names itself; the last one that does, because a flow may have the id of a step. */
const lineOf = (text: string, step: string): string => {
  const named = [...text.matchAll(new RegExp(`["']?\\bid["']?\\s*[=:]\\s*["']${step}["']`, "g"))].at(-1);
  return named === undefined ? "" : `:${text.slice(0, named.index).split("\n").length}`;
};

export const brokenFlow = (position: string, why: string, cause?: unknown): LlmcError =>
  new LlmcError("config_invalid", `The flow ${position} cannot be used: ${why}.`, {
    hint: "docs/guides/knowledge-bases.md describes flows.",
    cause,
  });

const failIn =
  ({ name, text }: FlowText): Fail =>
  (why, step) =>
    brokenFlow(`${name}${step === undefined ? "" : lineOf(text, step)}`, why);

/** A misspelt key would be left out without a word: `requird = true`. */
const checkKeys = (
  value: object,
  known: readonly string[],
  what: string,
  fail: (why: string) => LlmcError,
): void => {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw fail(`${what} has the unknown key ${unknown}`);
};

const readInput = (name: string, value: unknown, fail: Fail): FlowInput => {
  if (!isRecord(value)) throw fail(`input ${name} is not a table`);
  checkKeys(value, INPUT_KEYS, `input ${name}`, fail);
  const { type = "string", required = false, default: standard } = value;
  const known = TYPES.find((one) => one === type);
  if (known === undefined) throw fail(`input ${name} has the type ${String(type)}`);
  if (typeof required !== "boolean") throw fail(`required of input ${name} is not true or false`);
  if (standard !== undefined && typeof standard !== known)
    throw fail(`the default of input ${name} is not a ${known}`);
  return { type: known, required, default: standard as FlowInput["default"] };
};

const toolOf = (kind: string, step: Readonly<Record<string, unknown>>, failAt: Fail) => {
  const fail = (why: string): LlmcError => failAt(why, String(step["id"]));
  const { tool, args = {}, collection, query, top_k, filters, model } = step;
  const given = (value: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
  if (kind === "kb") return { tool: "kb_hybrid_search", args: given({ collection, query, top_k, filters }) };
  if (kind === "answer") return { tool: "kb_answer", args: given({ query, filters, model }) };
  if (typeof tool !== "string" || !isRecord(args)) throw fail("a tool step needs tool and args");
  // A flow that ran itself, or programs, would have no bounds.
  if (["kb_compose_flow", "execute_code"].includes(tool.replaceAll(".", "_")))
    throw fail(`a flow cannot call ${tool}`);
  return { tool, args };
};

const readStep = (value: unknown, failAt: Fail): FlowStep => {
  if (!isRecord(value)) throw failAt("a step is not a table");
  const { id, kind, needs = [], when, for_each: forEach, timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS } = value;
  if (typeof id !== "string" || !STEP_ID.test(id))
    throw failAt("a step has no id of letters, digits, - and _");
  const fail = (why: string): LlmcError => failAt(why, id);
  const known = typeof kind === "string" && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (known === undefined) throw fail(`step ${id} is not of kind kb, tool or answer`);
  checkKeys(value, [...COMMON, ...known], `step ${id}`, fail);
  if (!Array.isArray(needs) || !needs.every((one) => typeof one === "string"))
    throw fail(`needs of step ${id} is not a list of steps`);
  if (when !== undefined && typeof when !== "string") throw fail(`when of step ${id} is not a reference`);
  if (forEach !== undefined && typeof forEach !== "string")
    throw fail(`for_each of step ${id} is not a reference`);
  if (typeof timeoutMs !== "number" || !(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS))
    throw fail(`timeout_ms of step ${id} is not between 1 and ${MAX_TIMEOUT_MS}`);
  const { tool, args } = toolOf(String(kind), value, failAt);
  const references = [
    ...referencesIn(args),
    ...(when === undefined ? [] : [when]),
    ...(forEach === undefined ? [] : [forEach]),
  ];
  const referred = references.flatMap((one) => /^steps\.([^.]+)/.exec(one)?.[1] ?? []);
  return { id, tool, args, needs: [...new Set([...needs, ...referred])], when, forEach, timeoutMs };
};

/** Every reference leads to an input, a step, or, in the arguments of a step that has items, to its item. */
const checkReferences = ({ inputs, steps }: Flow, fail: Fail): void => {
  const ids = new Set(steps.map(({ id }) => id));
  if (ids.size !== steps.length) throw fail("two steps have the same id");
  for (const { id, args, needs, when, forEach } of steps) {
    const missing = needs.find((one) => !ids.has(one));
    if (missing !== undefined) throw fail(`step ${id} needs the step ${missing}, which does not exist`, id);
    const isKnown = (reference: string): boolean => {
      const [head = "", name = ""] = reference.split(".");
      return (head === "inputs" && Object.hasOwn(inputs, name)) || (head === "steps" && ids.has(name));
    };
    const isItem = (reference: string): boolean => forEach !== undefined && /^item(?:\.|$)/.test(reference);
    const unknown =
      referencesIn(args).find((one) => !isKnown(one) && !isItem(one)) ??
      [when, forEach].find((one) => one !== undefined && !isKnown(one));
    if (unknown !== undefined) throw fail(`step ${id} refers to ${unknown}, which does not exist`, id);
  }
};

const checkCycles = ({ steps }: Flow, fail: Fail): void => {
  const done = new Set<string>();
  for (let left = steps; left.length > 0; ) {
    const ready = left.filter(({ needs }) => needs.every((one) => done.has(one)));
    if (ready.length === 0)
      throw fail(`the steps ${left.map(({ id }) => id).join(", ")} wait for each other`);
    for (const { id } of ready) done.add(id);
    left = left.filter(({ id }) => !done.has(id));
  }
};

const valueAt = (args: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    args,
  );

/** What is literal has to fit the tool; what a reference becomes is checked when the step runs. */
const checkTools = async ({ steps }: Flow, check: CheckArguments, fail: Fail): Promise<void> => {
  for (const { id, tool, args } of steps) {
    const issues = await check(tool, args);
    if (issues === undefined) throw fail(`step ${id} calls the unknown tool ${tool}`, id);
    const issue = issues.find(
      ({ path, isUnknownKey }) => isUnknownKey || referencesIn(valueAt(args, path)).length === 0,
    );
    if (issue === undefined) continue;
    const field = issue.path.map(String).join(".");
    throw fail(`step ${id} calls ${tool} with ${field === "" ? "" : `${field}: `}${issue.message}`, id);
  }
};

/** Reads and checks a declaration: what can be wrong is found when it is loaded, not while it runs. */
export const readFlow = async (file: FlowText, check: CheckArguments): Promise<Flow> => {
  const fail = failIn(file);
  const { value } = file;
  if (!isRecord(value)) throw fail("it is not a table");
  checkKeys(value, FLOW_KEYS, "it", fail);
  const { id, description = "", inputs = {}, steps } = value;
  if (!isName(id)) throw fail("it has no id of lower-case letters, digits, dots, hyphens and underscores");
  if (typeof description !== "string" || !isRecord(inputs))
    throw fail("description or inputs are of a wrong type");
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > MAX_STEPS)
    throw fail(`it does not have 1 to ${MAX_STEPS} steps`);
  const flow: Flow = {
    id,
    description,
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([name, input]) => [name, readInput(name, input, fail)]),
    ),
    steps: steps.map((step) => readStep(step, fail)),
  };
  checkReferences(flow, fail);
  checkCycles(flow, fail);
  await checkTools(flow, check, fail);
  return flow;
};

/** The inputs of a call, checked against the declaration. */
export const readInputs = (
  flow: Flow,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const refuse = (why: string): LlmcError =>
    new LlmcError("invalid_args", `The flow ${flow.id} cannot run: ${why}.`, {
      hint: `Its inputs are ${Object.keys(flow.inputs).join(", ") || "none"}.`,
    });
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(flow.inputs, name));
  if (unknown !== undefined) throw refuse(`it has no input ${JSON.stringify(unknown.slice(0, 40))}`);
  return Object.fromEntries(
    Object.entries(flow.inputs).flatMap(([name, { type, required, default: standard }]) => {
      const value = given[name] ?? standard;
      if (value === undefined) {
        if (required) throw refuse(`the input ${name} is missing`);
        return [];
      }
      if (typeof value !== type) throw refuse(`the input ${name} is not a ${type}`);
      return [[name, value]];
    }),
  );
};
