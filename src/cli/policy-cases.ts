import { parse } from "smol-toml";
import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { parseGuarded } from "../base/json-guard.ts";
import { CONTEXT, LABELS, PRINCIPAL, RESOURCES } from "../core/contract.ts";

type ResourceType = keyof typeof RESOURCES;

/** One case of `llmc policy test`, with what it leaves out left out. */
export interface PolicyCase {
  readonly name: string;
  readonly principal: Partial<typeof PRINCIPAL & Record<keyof typeof LABELS | "id", string>>;
  readonly action: string;
  /** Undefined: what the action is usually about. */
  readonly resource: ({ readonly type: ResourceType } & Readonly<Record<string, unknown>>) | undefined;
  readonly context: Partial<typeof CONTEXT>;
  readonly expect: "allow" | "deny" | "ask";
}

/** The fields of a table, each with a value of its type. */
type Fields = Readonly<Record<string, string | boolean | readonly string[]>>;

const CASE = ["name", "principal", "action", "resource", "context", "expect"];
const TYPES = Object.keys(RESOURCES);

const isResourceType = (type: unknown): type is ResourceType =>
  typeof type === "string" && TYPES.includes(type);

const isLike = (value: unknown, sample: Fields[string]): boolean =>
  typeof sample === "object"
    ? Array.isArray(value) && value.every((item) => typeof item === "string")
    : typeof value === typeof sample;

/** A misspelt field would test something else than its author believes. */
const readFields = (value: unknown, fields: Fields, at: string): Readonly<Record<string, unknown>> => {
  if (value === undefined) return {};
  if (!isRecord(value)) throw new LlmcError("invalid_args", `${at}: expected a table.`);
  for (const [field, given] of Object.entries(value)) {
    const sample = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (sample === undefined)
      throw new LlmcError("invalid_args", `${at}: there is no field ${field}.`, {
        hint: `Fields: ${Object.keys(fields).join(", ")}.`,
      });
    if (!isLike(given, sample))
      throw new LlmcError(
        "invalid_args",
        `${at}.${field}: expected a ${typeof sample === "object" ? "list of strings" : typeof sample}.`,
      );
  }
  return value;
};

const ENTITY = /^(\w+)::"([^"\\]*)"$/;

/** `Command::"npm"`, as policies write it, or a table with attributes. */
const readResource = (value: unknown, at: string): PolicyCase["resource"] => {
  if (value === undefined) return undefined;
  const entity = typeof value === "string" ? ENTITY.exec(value) : undefined;
  if (entity === null) throw new LlmcError("invalid_args", `${at}: expected Type::"name".`);
  const given = entity === undefined ? value : { type: entity[1], id: entity[2] };
  const type = isRecord(given) ? given["type"] : undefined;
  if (!isResourceType(type))
    throw new LlmcError("invalid_args", `${at}: there is no type ${String(type)}.`, {
      hint: `Types: ${TYPES.join(", ")}.`,
    });
  return { ...readFields(given, { type: "", id: "", ...RESOURCES[type] }, at), type };
};

const PRINCIPAL_FIELDS: Fields = { id: "", ...PRINCIPAL, ...LABELS };

const readCase = (value: unknown, number: number): PolicyCase => {
  const at = `case ${number}`;
  if (!isRecord(value)) throw new LlmcError("invalid_args", `${at}: expected a table.`);
  const unknown = Object.keys(value).find((field) => !CASE.includes(field));
  if (unknown !== undefined)
    throw new LlmcError("invalid_args", `${at}: there is no field ${unknown}.`, {
      hint: `Fields: ${CASE.join(", ")}.`,
    });
  const { name, principal, action, resource, context, expect } = value;
  if (typeof action !== "string") throw new LlmcError("invalid_args", `${at}: action names no tool.`);
  if (expect !== "allow" && expect !== "deny" && expect !== "ask")
    throw new LlmcError("invalid_args", `${at}: expect must be allow, deny or ask.`);
  const named = typeof principal === "string" ? { id: principal } : principal;
  return {
    name: typeof name === "string" ? name : at,
    principal: readFields(named, PRINCIPAL_FIELDS, `${at}: principal`),
    action,
    resource: readResource(resource, `${at}: resource`),
    context: readFields(context, CONTEXT, `${at}: context`),
    expect,
  };
};

const readText = (text: string, isToml: boolean): unknown => {
  try {
    return isToml ? parse(text) : parseGuarded(text);
  } catch (thrown) {
    const reason = thrown instanceof Error ? (thrown.message.split("\n")[0] ?? "") : "";
    throw new LlmcError("invalid_args", `The file is not valid ${isToml ? "TOML" : "JSON"}: ${reason}`);
  }
};

/** The cases of a file: a list, or a table with the list `cases`. A file without one would test nothing. */
export const parseCases = (text: string, isToml: boolean): readonly PolicyCase[] => {
  const whole = readText(text, isToml);
  const cases = isRecord(whole) ? whole["cases"] : whole;
  if (!Array.isArray(cases) || cases.length === 0)
    throw new LlmcError("invalid_args", "The file holds no cases.", {
      hint: "Write a list of cases in JSON, or [[cases]] in TOML.",
    });
  return cases.map((one, at) => readCase(one, at + 1));
};
