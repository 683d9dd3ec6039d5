import type { StubField, StubType } from "./schema-type.ts";
import type { StubTool } from "./stub-tool.ts";

const IDENTIFIER = /^[A-Za-z_]\w*$/;
/** Keywords, and the one name that a method has already. */
const RESERVED = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield self`.split(/\s+/),
);

const isPythonName = (name: string): boolean => IDENTIFIER.test(name) && !RESERVED.has(name);

/** JSON's strings are Python's. */
const docstring = (text: string): string => JSON.stringify(text.replace(/\s+/g, " ").trim());

const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");

/** Python has no types for objects inside a type: each gets a name, and is declared before the one that uses it. */
interface Declarations {
  readonly texts: string[];
  readonly names: Set<string>;
}

const freeName = (wanted: string, { names }: Declarations): string => {
  const base = IDENTIFIER.test(wanted) ? wanted : `T${wanted}`;
  let name = base;
  for (let count = 2; names.has(name); count++) name = `${base}${count}`;
  names.add(name);
  return name;
};

const declareObject = (fields: readonly StubField[], wanted: string, declarations: Declarations): string => {
  const name = freeName(wanted, declarations);
  const typed = fields.map((field) => {
    const type = print(field.type, `${wanted}${pascal(field.name)}`, declarations);
    return { ...field, text: field.isRequired ? type : `NotRequired[${type}]` };
  });
  declarations.texts.push(
    typed.every((field) => isPythonName(field.name))
      ? `class ${name}(TypedDict):\n${typed.map((field) => `    ${field.name}: ${field.text}\n`).join("") || "    pass\n"}`
      : `${name} = TypedDict("${name}", {${typed.map((field) => `${JSON.stringify(field.name)}: ${field.text}`).join(", ")}})\n`,
  );
  return name;
};

const literal = (value: string | number | boolean | null): string => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
};

const print = (type: StubType, wanted: string, declarations: Declarations): string => {
  switch (type.is) {
    case "string":
      return "str";
    case "number":
      return "float";
    case "integer":
      return "int";
    case "boolean":
      return "bool";
    case "null":
      return "None";
    case "any":
      return "Any";
    case "literal":
      // A literal type has no fractions.
      return type.values.some((value) => typeof value === "number" && !Number.isInteger(value))
        ? "Any"
        : `Literal[${type.values.map(literal).join(", ")}]`;
    case "array":
      return `list[${print(type.item, `${wanted}Item`, declarations)}]`;
    case "record":
      return `dict[str, ${print(type.value, `${wanted}Value`, declarations)}]`;
    case "object":
      return declareObject(type.fields, wanted, declarations);
    case "union":
      return type.of.map((each, at) => print(each, `${wanted}${at + 1}`, declarations)).join(" | ");
  }
};

const parametersOf = ({ name, input }: StubTool, declarations: Declarations): string => {
  if (input.length === 0) return "self";
  if (!input.every((field) => isPythonName(field.name)))
    return `self, **kwargs: Unpack[${declareObject(input, `${pascal(name)}Args`, declarations)}]`;
  const parameters = input.map((field) => {
    const type = print(field.type, `${pascal(name)}${pascal(field.name)}`, declarations);
    return `${field.name}: ${type}${field.isRequired ? "" : " = ..."}`;
  });
  return `self, *, ${parameters.join(", ")}`;
};

/** What each argument means, since Python has no place for it in a signature. */
const describeArguments = (input: readonly StubField[]): string => {
  const described = input.filter(({ description }) => description !== "");
  return described.map(({ name, description }) => `${name}: ${description}`).join("; ");
};

const method = (tool: StubTool, declarations: Declarations): string => {
  const result = print(tool.output, `${pascal(tool.name)}Result`, declarations);
  const parameters = parametersOf(tool, declarations);
  const text = [tool.description, describeArguments(tool.input)].filter((part) => part !== "").join(" ");
  if (!isPythonName(tool.name))
    return `    # await tools[${JSON.stringify(tool.name)}](...) -> ${result}: ${docstring(text)}\n    pass\n`;
  return `    async def ${tool.name}(${parameters}) -> ${result}:\n        ${docstring(text)}\n        ...\n`;
};

const TYPING = ["Any", "Literal", "NotRequired", "TypedDict", "Unpack"];

const importsFor = (text: string): string => {
  const used = TYPING.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  return used.length === 0 ? "" : `from typing import ${used.join(", ")}\n\n`;
};

const className = (family: string): string => `${pascal(family)}Tools`;

/** One file of a family. A tool whose name is no name in Python is called by `tools["NAME"]`. */
export const pythonStub = (family: string, tools: readonly StubTool[]): string => {
  const declarations: Declarations = { texts: [], names: new Set([className(family)]) };
  const methods = tools.map((tool) => method(tool, declarations));
  const text = `${declarations.texts.join("\n")}\nclass ${className(family)}:\n${methods.join("")}`;
  return `${importsFor(text)}${text}`;
};

export const pythonGlobals = (families: readonly string[]): string => `"""What every program has."""
from typing import Any, Awaitable, Callable
${families.map((family) => `from .${family} import ${className(family)}`).join("\n")}

class Tools(${families.map(className).join(", ")}):
    """Calls may run in parallel: await asyncio.gather(tools.a(...), tools.b(...))."""
    def __getitem__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Any tool by its name: await tools["00_INIT"]()."""
        ...

class ToolError(Exception):
    code: str
    message: str
    retryable: bool

tools: Tools
inputs: dict[str, Any]
"""What execute_code was given as inputs."""
`;
