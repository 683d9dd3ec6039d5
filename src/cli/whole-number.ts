import { LlmcError } from "../base/error.ts";

/** Reads the value of an option that takes a whole number within bounds. */
export const wholeNumber = (
  option: string,
  typed: string,
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): number => {
  const value = Number(typed);
  if (/^\d+$/.test(typed) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new LlmcError("invalid_args", `${option} takes a whole number ${range}.`, {
    hint: `For example ${option} ${Math.min(Math.max(min, 7), max)}.`,
  });
};
