import { z } from "zod";
import type { Option } from "../base/option.ts";

/** What a key takes, read off its schema, so that messages, pages and parsers agree with what is enforced. */
export type Kind =
  | { readonly is: "flag" | "text" | "list" }
  | { readonly is: "whole"; readonly min: number; readonly max: number }
  | { readonly is: "choice"; readonly values: readonly string[] };

/** TOML has no null: a key that may be null is one that may be left out. */
export const withoutNull = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodNullable ? schema.unwrap() : schema;

export const kindOf = (option: Option): Kind => {
  const schema = withoutNull(option.schema);
  if (schema instanceof z.ZodBoolean) return { is: "flag" };
  if (schema instanceof z.ZodNumber && schema.isInt && schema.minValue !== null && schema.maxValue !== null) {
    return { is: "whole", min: schema.minValue, max: schema.maxValue };
  }
  if (schema instanceof z.ZodEnum) return { is: "choice", values: schema.options.map(String) };
  if (schema instanceof z.ZodString) return { is: "text" };
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodString) return { is: "list" };
  throw new TypeError(`No kind for the option that says: ${option.says}`);
};

export const describeKind = (kind: Kind): string => {
  switch (kind.is) {
    case "flag":
      return "true or false";
    case "text":
      return "a string";
    case "list":
      return "a list of strings";
    case "whole":
      return `a whole number from ${kind.min} to ${kind.max}`;
    case "choice":
      return `one of ${kind.values.map((value) => JSON.stringify(value)).join(", ")}`;
  }
};
