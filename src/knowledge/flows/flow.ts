import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";

/** A declared flow: steps that search, ask and call tools, each when what it needs is there. */
export interface Flow {
  readonly id: string;
  readonly description: string;
  readonly inputs: Readonly<Record<string, FlowInput>>;
  readonly steps: readonly FlowStep[];
}

/** A file whose flow cannot be used. The other files are not affected by it. */
export interface BrokenFlow {
  readonly file: string;
  /** If it can be read at all. */
  readonly id: string | undefined;
  readonly error: LlmcError;
}

export type DeclaredFlow = Flow | BrokenFlow;

export const isBroken = (declared: DeclaredFlow): declared is BrokenFlow => "error" in declared;

export interface FlowInput {
  readonly type: "string" | "number" | "boolean";
  readonly required: boolean;
  readonly default: string | number | boolean | undefined;
}

export interface FlowStep {
  readonly id: string;
  /** The tool that does it; `kb` and `answer` steps are calls of kb_hybrid_search and kb_answer. */
  readonly tool: string;
  /** Texts in it may refer to inputs, earlier steps and the current item: `{{steps.find.hits.0.snippet}}`. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Steps that have to be done before: those that it names, and those that it refers to. */
  readonly needs: readonly string[];
  /** A reference; the step is left out where it leads to nothing, false, 0 or an empty list. */
  readonly when: string | undefined;
  /** A reference to a list: the step runs once for each item. */
  readonly forEach: string | undefined;
  readonly timeoutMs: number;
}

/** What references can lead to: inputs, the results of steps, and the current item. */
export type Scope = Readonly<Record<string, unknown>>;

const REFERENCE = /\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}/g;
const WHOLE = /^\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}$/;

/** `steps.find.hits.0`, as a path into what is known. */
export const resolveReference = (scope: Scope, reference: string): unknown =>
  reference
    .split(".")
    .reduce<unknown>(
      (value, key) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, key)
          ? (value as Record<string, unknown>)[key]
          : undefined,
      scope,
    );

/** Every reference in a value, however deep. */
export const referencesIn = (value: unknown): readonly string[] => {
  if (typeof value === "string") return [...value.matchAll(REFERENCE)].map(([, reference = ""]) => reference);
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(referencesIn) : [];
};

const asText = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** More than any tool takes, and than any reader of a flow's results wants. */
const MAX_CHARS = 16 * 1024 * 1024;

/** Counts values, as JSON has them, and throws where they are too much together: others wait while they are written. */
export const createCharCount = (what: string): ((value: unknown) => void) => {
  let left = MAX_CHARS;
  return (value) => {
    left -= typeof value === "string" ? value.length : (JSON.stringify(value)?.length ?? 0);
    if (left >= 0) return;
    throw new LlmcError("invalid_args", `${what} has more than ${MAX_CHARS} characters together.`, {
      hint: "Give the flow shorter inputs, or ask for less in its steps.",
    });
  };
};

/**
 * The value with its references filled in; a text that is one reference becomes what it refers to. That may be large, and
 * be referred to any number of times.
 */
export const fill = (given: unknown, scope: Scope): unknown => {
  const count = createCharCount("What a step refers to");
  const valueAt = (reference: string): unknown => {
    const value = resolveReference(scope, reference);
    count(value);
    return value;
  };
  const fillIn = (value: unknown): unknown => {
    if (typeof value === "string") {
      const whole = WHOLE.exec(value)?.[1];
      if (whole !== undefined) return valueAt(whole);
      return value.replace(REFERENCE, (_, reference: string) => asText(valueAt(reference)));
    }
    if (Array.isArray(value)) return value.map(fillIn);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillIn(one)]));
  };
  return fillIn(given);
};

/** The collection that the arguments of a step name: to kb_answer, as a filter. */
const collectionIn = ({ args: { collection, filters } }: FlowStep): unknown =>
  collection ?? (isRecord(filters) ? filters["collection"] : undefined);

/** Ids of flows that search or ask a collection by its name. */
export const flowsOver = (declared: readonly DeclaredFlow[], collection: string): readonly string[] =>
  declared
    .filter((one): one is Flow => !isBroken(one))
    .filter(({ steps }) => steps.some((step) => collectionIn(step) === collection))
    .map(({ id }) => id);
