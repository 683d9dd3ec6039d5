import { LlmcError } from "../base/error.ts";
import { ellipsize, nearest, quoteForMessage } from "../base/text.ts";
import type { Schema, SchemaIssue } from "../tools/contract.ts";

const fieldOf = (issue: SchemaIssue): string =>
  (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");

const valueAt = (args: unknown, { path = [] }: SchemaIssue): unknown =>
  path.reduce<unknown>((value, part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  }, args);

/** Of the values that a field may have, the one that was probably meant. */
const meant = (issue: SchemaIssue, args: unknown): string | undefined => {
  const given = valueAt(args, issue);
  const values: unknown = Reflect.get(issue, "values");
  if (typeof given !== "string" || !Array.isArray(values)) return undefined;
  return nearest(
    given,
    values.filter((value): value is string => typeof value === "string"),
  );
};

/** What is not there is not invalid; the rule still says what it should be. */
const missingRule = ({ message }: SchemaIssue): string =>
  message.replace(/^Invalid (?:option|input): expected /, "required: ").replace(/, received undefined$/, "");

/** Names the field and the rule, and never the value: an argument may be long or secret. */
const describe = (issue: SchemaIssue, args: unknown): string => {
  const field = fieldOf(issue);
  const near = meant(issue, args);
  const message = valueAt(args, issue) === undefined ? missingRule(issue) : issue.message;
  const rule = near === undefined ? message : `${message} (did you mean ${quoteForMessage(near)}?)`;
  return ellipsize(field === "" ? rule : `${field}: ${rule}`, 200);
};

const knownFields = (schema: Schema): readonly string[] => {
  const { properties } = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
};

/** More would not help, and an attacker could provoke thousands. */
const MAX_ISSUES = 5;

/** The arguments as the schema parses them. */
export const validateArguments = async (schema: Schema, args: unknown): Promise<unknown> => {
  const result = await schema["~standard"].validate(args ?? {});
  if (result.issues === undefined) return result.value;
  const [first] = result.issues;
  const fields = knownFields(schema);
  throw new LlmcError(
    "invalid_args",
    `Invalid arguments: ${result.issues
      .slice(0, MAX_ISSUES)
      .map((issue) => describe(issue, args))
      .join("; ")}.`,
    {
      hint: fields.length === 0 ? "It takes no arguments." : `It takes: ${fields.join(", ")}.`,
      ...(first === undefined || fieldOf(first) === ""
        ? {}
        : { details: { field: ellipsize(fieldOf(first), 100) } }),
    },
  );
};

/** A tool whose output breaks its own schema is a defect of ours, not of the caller. */
export const checkOutput = async (schema: Schema, output: unknown): Promise<unknown> => {
  const result = await schema["~standard"].validate(output);
  if (result.issues === undefined) return result.value;
  throw new Error(
    `output does not match its schema at ${result.issues.map(fieldOf).slice(0, MAX_ISSUES).join(", ")}`,
  );
};
