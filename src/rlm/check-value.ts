import { isRecord } from "../base/is-record.ts";
import type { AnswerSchema } from "./contract.ts";

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
  object: (value) => isRecord(value) && !Array.isArray(value),
  null: (value) => value === null,
};

const MAX_DEPTH = 16;
/** Comparisons for one answer, some 50 ms: both the schema and the value may come from a model that means harm. */
const MAX_STEPS = 500_000;

/** What one check has used so far. */
interface Work {
  steps: number;
}

/** The values of an `enum` as texts, made once for all items that are compared with them. */
const enumTexts = new WeakMap<readonly unknown[], ReadonlySet<string | undefined>>();

const textsOf = (allowed: readonly unknown[]): ReadonlySet<string | undefined> => {
  const known = enumTexts.get(allowed) ?? new Set(allowed.map((one) => JSON.stringify(one)));
  enumTexts.set(allowed, known);
  return known;
};

const checkMembers = (
  value: Readonly<Record<string, unknown>>,
  { properties, required, additionalProperties }: AnswerSchema,
  at: string,
  depth: number,
  work: Work,
): string | undefined => {
  const known = isRecord(properties) ? properties : {};
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  work.steps += names.length;
  const missing = names.find((name) => !Object.hasOwn(value, String(name)));
  if (missing !== undefined) return `${at}.${String(missing)} is missing`;
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(known, name) ? known[name] : undefined;
    if (own === undefined && additionalProperties === false) return `${at}.${name} is not expected`;
    const problem = isRecord(own) ? check(member, own, `${at}.${name}`, depth + 1, work) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const check = (
  value: unknown,
  schema: AnswerSchema,
  at: string,
  depth: number,
  work: Work,
): string | undefined => {
  if (depth > MAX_DEPTH) return `${at} is nested too deeply`;
  const types = [schema["type"]].flat().filter((type) => typeof type === "string");
  work.steps += 1 + types.length;
  if (work.steps > MAX_STEPS) return `${at} and what follows is too much to be checked by this schema`;
  if (types.length > 0 && !types.some((type) => TYPES[type]?.(value) === true)) {
    return `${at} is not of the type ${types.join(" or ")}`;
  }
  const { enum: allowed, items } = schema;
  if (Array.isArray(allowed) && !textsOf(allowed).has(JSON.stringify(value))) {
    return `${at} is not one of ${JSON.stringify(allowed).slice(0, 200)}`;
  }
  if (Array.isArray(value) && isRecord(items)) {
    for (const [index, item] of value.entries()) {
      const problem = check(item, items, `${at}[${index}]`, depth + 1, work);
      if (problem !== undefined) return problem;
    }
  }
  return isRecord(value) && !Array.isArray(value) ? checkMembers(value, schema, at, depth, work) : undefined;
};

/**
 * What is wrong with a value, by a JSON Schema of these keywords: type, enum, properties, required,
 * additionalProperties (false), items. Undefined for a valid value.
 */
export const checkValue = (value: unknown, schema: AnswerSchema): string | undefined =>
  check(value, schema, "value", 0, { steps: 0 });
