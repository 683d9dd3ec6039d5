import { parse } from "smol-toml";
import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { parseGuarded } from "../base/json-guard.ts";

/** One case of `llmc policy test`, with what it leaves out left out. */
export interface PolicyCase {
  readonly name: string;
  readonly principal: Readonly<Record<string, unknown>>;
  readonly action: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly context: Readonly<Record<string, unknown>>;
  readonly expect: "allow" | "deny" | "ask";
}

type Kind = "string" | "boolean" | "list";
type Fields = Readonly<Record<string, Kind>>;

const PRINCIPAL: Fields = {
  id: "string",
  scopes: "list",
  transport: "string",
  agent: "string",
  session: "string",
};
const RESOURCE: Fields = {
  type: "string",
  id: "string",
  in_root: "boolean",
  denied: "boolean",
  protected: "boolean",
  allowlisted: "boolean",
  missing_powers: "list",
  listed: "boolean",
};
const CONTEXT: Fields = { mode: "string", profile: "string", air_gapped: "boolean", granted: "boolean" };
const CASE = ["name", "principal", "action", "resource", "context", "expect"];
const TYPES = ["Workspace", "Server", "File", "Command", "Collection", "Flow", "Host"];

const isOf = (value: unknown, kind: Kind): boolean =>
  kind === "list"
    ? Array.isArray(value) && value.every((item) => typeof item === "string")
    : typeof value === kind;

/** A misspelt field would test something else than its author believes. */
const readFields = (value: unknown, fields: Fields, at: string): Readonly<Record<string, unknown>> => {
  if (value === undefined) return {};
  if (!isRecord(value)) throw new LlmcError("invalid_args", `${at}: expected a table.`);
  for (const [field, given] of Object.entries(value)) {
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (kind === undefined)
      throw new LlmcError("invalid_args", `${at}: there is no field ${field}.`, {
        hint: `Fields: ${Object.keys(fields).join(", ")}.`,
      });
    if (!isOf(given, kind))
      throw new LlmcError(
        "invalid_args",
        `${at}.${field}: expected a ${kind === "list" ? "list of strings" : kind}.`,
      );
  }
  return value;
};

const ENTITY = /^(\w+)::"([^"\\]*)"$/;

/** `Command::"npm"`, as policies write it, or a table with attributes. */
const readResource = (value: unknown, at: string): PolicyCase["resource"] => {
  const entity = typeof value === "string" ? ENTITY.exec(value) : undefined;
  if (entity === null) throw new LlmcError("invalid_args", `${at}: expected Type::"name".`);
  const fields = readFields(entity === undefined ? value : { type: entity[1], id: entity[2] }, RESOURCE, at);
  if (fields["type"] !== undefined && !TYPES.includes(String(fields["type"])))
    throw new LlmcError("invalid_args", `${at}: there is no type ${String(fields["type"])}.`, {
      hint: `Types: ${TYPES.join(", ")}.`,
    });
  return fields;
};

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
  return {
    name: typeof name === "string" ? name : at,
    principal: readFields(
      typeof principal === "string" ? { id: principal } : principal,
      PRINCIPAL,
      `${at}: principal`,
    ),
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
