import type { StubField, StubType } from "./schema-type.ts";
import type { StubTool } from "./stub-tool.ts";

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A description comes from whoever wrote the tool: it must not end the comment. */
const comment = (text: string, indent: string): string =>
  text === "" ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/").replace(/\s+/g, " ").trim()} */\n`;

const nameOf = (name: string): string => (IDENTIFIER.test(name) ? name : JSON.stringify(name));

const printFields = (fields: readonly StubField[], indent: string): string => {
  const inner = `${indent}  `;
  const lines = fields.map(
    ({ name, type, isRequired, description }) =>
      `${comment(description, inner)}${inner}${nameOf(name)}${isRequired ? "" : "?"}: ${print(type, inner)};\n`,
  );
  return fields.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
};

const print = (type: StubType, indent: string): string => {
  switch (type.is) {
    case "integer":
      return "number";
    case "literal":
      return type.values.map((value) => JSON.stringify(value)).join(" | ") || "never";
    case "array": {
      const item = print(type.item, indent);
      return /^[\w.]+(\[\])*$/.test(item) ? `${item}[]` : `Array<${item}>`;
    }
    case "record":
      return `Record<string, ${print(type.value, indent)}>`;
    case "object":
      return type.fields.length === 0 ? "Record<string, never>" : printFields(type.fields, indent);
    case "union":
      return type.of.map((each) => print(each, indent)).join(" | ");
    default:
      return type.is;
  }
};

/** The declaration of one tool. */
export const typescriptSignature = ({ name, description, input, output }: StubTool): string => {
  const isOptional = input.every(({ isRequired }) => !isRequired);
  const args = input.length === 0 ? "args?: {}" : `args${isOptional ? "?" : ""}: ${printFields(input, "  ")}`;
  return `${comment(description, "  ")}  ${nameOf(name)}(${args}): Promise<${print(output, "  ")}>;\n`;
};

/** One file of a family: declarations of the same interface merge. */
export const typescriptStub = (tools: readonly StubTool[]): string =>
  `interface Tools {\n${tools.map(typescriptSignature).join("")}}\n`;

export const TYPESCRIPT_GLOBALS = `/** What every program has; the tools are in the files beside this one. */
declare const tools: Tools;
/** What execute_code was given as \`inputs\`. */
declare const inputs: Record<string, any>;
/** The ephemeral workspace: what is left there when the program ends is given back as handles. */
declare const files: {
  write(name: string, text: string): void;
  read(name: string): string;
  remove(name: string): boolean;
  list(): string[];
};
/** A tool call that failed. */
declare class ToolError extends Error {
  readonly code: string;
  readonly retryable: boolean;
}
declare const console: Record<"log" | "info" | "warn" | "error" | "debug", (...values: unknown[]) => void>;
declare function setTimeout(work: (...args: any[]) => void, ms?: number, ...args: unknown[]): number;
declare function clearTimeout(id: number): void;
`;
