import { fromJsonSchema, UriTemplate } from "@modelcontextprotocol/server";
import { isRecord } from "../base/is-record.ts";
import { quoteForMessage } from "../base/text.ts";
import type { ModuleKit } from "../core/custom-modules.ts";

/** The same values in objects that inherit nothing. */
const withoutInherited = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutInherited);
  if (!isRecord(value)) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [name, inner] of Object.entries(value)) copy[name] = withoutInherited(inner);
  return copy;
};

/** What the validator says of a schema, in words for whoever writes one. */
const PLAIN_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [
    /^type must be JSONType or JSONType\[\]: (.*)$/,
    "no such type: $1 (string, number, integer, boolean, array, object, null)",
  ],
  [/^(\S+) value must be \["(array|object|integer)"\]$/, "$1 must be an $2"],
  [/^(\S+) value must be \["(\w+)"\]$/, "$1 must be a $2"],
];

const toPlainMessage = (message: string): string =>
  PLAIN_MESSAGES.reduce((text, [pattern, plain]) => text.replace(pattern, plain), message);

type Made = ReturnType<ModuleKit["jsonSchema"]>;
type Issue = NonNullable<Awaited<ReturnType<Made["~standard"]["validate"]>>["issues"]>[number];

const compile = (schema: unknown): Made => fromJsonSchema(schema as never) as Made;

/** Names of the properties down to the one whose schema is refused, each of which fails by itself. */
const blame = (schema: unknown, message: string): readonly string[] => {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return [];
  for (const [name, inner] of Object.entries(schema["properties"])) {
    try {
      compile(inner);
    } catch (thrown) {
      if (thrown instanceof Error && thrown.message === message) return [name, ...blame(inner, message)];
    }
  }
  return [];
};

const compileOrBlame = (schema: unknown): Made => {
  try {
    return compile(schema);
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    const path = blame(schema, thrown.message).join(".");
    throw new Error(`the schema${path === "" ? "" : ` of ${path}`}: ${toPlainMessage(thrown.message)}`, {
      cause: thrown,
    });
  }
};

/** The validator joins what it finds to one text: `data/a/b must be string, data must …`. */
const FINDING = /^data((?:\/[^ ]*)?) (.*)$/s;
const REQUIRED = /^must have required property '(.*)'$/s;
const OTHERS = "must NOT have additional properties";

const unknownKeys = (value: unknown, { properties }: Readonly<Record<string, unknown>>): readonly string[] =>
  isRecord(value)
    ? Object.keys(value).filter((key) => !isRecord(properties) || !Object.hasOwn(properties, key))
    : [];

const toIssue = (finding: string, value: unknown, schema: Readonly<Record<string, unknown>>): Issue => {
  const [, pointer = "", rule = finding] = FINDING.exec(finding) ?? [];
  const path = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const missing = REQUIRED.exec(rule)?.[1];
  if (missing !== undefined) return { path: [...path, missing], message: "required" };
  if (rule !== OTHERS) return { path, message: rule };
  const [unknown] = path.length === 0 ? unknownKeys(value, schema) : [];
  return {
    path,
    message:
      unknown === undefined
        ? "must not have other keys than those it names"
        : `Unrecognized key: ${quoteForMessage(unknown)}`,
  };
};

/**
 * Wraps a JSON Schema as a schema of a tool; the MCP library validates against it. To the library, a property called
 * `constructor` is there in every object that inherits one.
 */
export const jsonSchema: ModuleKit["jsonSchema"] = (schema) => {
  const made = compileOrBlame(schema);
  const standard = made["~standard"];
  const validate: typeof standard.validate = async (value) => {
    const judged = await standard.validate(withoutInherited(value));
    if (judged.issues === undefined) return { value };
    const findings = new Set(judged.issues.flatMap(({ message }) => message.split(/, (?=data[ /])/)));
    return { issues: [...findings].map((finding) => toIssue(finding, value, schema)) };
  };
  return { ...made, "~standard": { ...standard, validate } };
};

export const matchTemplate = (
  template: string,
  uri: string,
): Readonly<Record<string, string>> | undefined => {
  const variables = new UriTemplate(template).match(uri);
  if (variables === null) return undefined;
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value]),
  );
};
