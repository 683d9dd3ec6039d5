import type { Caller } from "../tools/contract.ts";
import type { StubView, Tool } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { publishTool } from "./publish.ts";
import { argumentsOf, type StubType, typeOfSchema } from "./stubs/schema-type.ts";
import {
  createStubFiles,
  listStubs,
  readStub,
  type StubFiles,
  searchStubs,
  stubPathOf,
} from "./stubs/stub-files.ts";
import type { StubTool } from "./stubs/stub-tool.ts";

/** What a tool without a schema of its output returns to programs. */
const CONTENT: StubType = {
  is: "object",
  fields: [
    {
      name: "content",
      type: { is: "array", item: { is: "record", value: { is: "any" } } },
      isRequired: true,
      description: "",
    },
  ],
};

const toStubTool = (tool: Tool): StubTool => {
  const { name, description, inputSchema, outputSchema } = publishTool(tool, { outputSchema: true });
  return {
    name,
    description,
    input: argumentsOf(inputSchema),
    output: outputSchema === undefined ? CONTENT : typeOfSchema(outputSchema),
  };
};

interface StubParts {
  /** All tools, whatever the mode lists. */
  readonly tools: () => Promise<readonly Tool[]>;
  readonly isPossible: Authorizer["isPossible"];
}

/** A program cannot start another one. */
const NOT_FOR_PROGRAMS = "execute_code";

/** Callers may differ in what policy can ever allow them. */
const MAX_KEPT = 16;

/** Stubs of the tools that a caller's programs can call, made from the catalogue when they are asked for. */
export const createStubs = ({ tools, isPossible }: StubParts): StubView & { clear(): void } => {
  const described = new WeakMap<Tool, StubTool>();
  const kept = new Map<string, StubFiles>();
  const describe = (tool: Tool): StubTool => {
    const known = described.get(tool) ?? toStubTool(tool);
    described.set(tool, known);
    return known;
  };
  const filesFor = async (caller: Caller): Promise<StubFiles> => {
    const possible = (await tools()).filter(
      (tool) => tool.name !== NOT_FOR_PROGRAMS && isPossible(tool, caller),
    );
    const key = possible.map(({ name }) => name).join();
    const known = kept.get(key) ?? createStubFiles(possible.map(describe));
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, known);
    return known;
  };
  return {
    pathOf: stubPathOf,
    list: async (path, caller) => listStubs(await filesFor(caller), path),
    read: async (path, caller) => readStub(await filesFor(caller), path),
    search: async (query, limit, caller) => searchStubs(await filesFor(caller), query, limit),
    clear: () => kept.clear(),
  };
};
