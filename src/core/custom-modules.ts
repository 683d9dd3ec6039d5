import { z } from "zod";
import { LlmcError, toLlmcError } from "../base/error.ts";
import type { ErrorCode } from "../base/error-table.ts";
import { ACTION_GROUPS } from "../policy/cedar/model.ts";
import type { Prompt, Resource, ResourceTemplate, Schema } from "../tools/contract.ts";
import { defineTool, EFFECTS, type Tool } from "../tools/tool.ts";
import type { Registered } from "./catalogue.ts";
import { OTHER_ACTIONS } from "./requests.ts";

/** What a custom module is handed: it imports nothing of ours. */
export interface ModuleKit {
  /** The schema library that the built-in tools use. */
  readonly z: typeof z;
  /** Wraps a hand-written JSON Schema; it is published as it is and enforced. */
  jsonSchema(schema: Readonly<Record<string, unknown>>): Schema;
  /** An error that the model may read, to be thrown; anything else that is thrown stays hidden from it. */
  fail(message: string, options?: { readonly code?: ErrorCode; readonly hint?: string }): Error;
  tool<I extends Schema, O extends Schema>(tool: Tool<I, O>): void;
  prompt(prompt: Prompt): void;
  resource(resource: Resource): void;
  resourceTemplate(template: ResourceTemplate): void;
}

/** Finds and loads the files of the custom folder; the host provides it. */
export interface ModuleSource {
  /** Absolute paths of the modules, sorted by name; a folder that does not exist has none. */
  list(folder: string): Promise<readonly string[]>;
  load(path: string): Promise<unknown>;
}

export interface Failure {
  readonly file: string;
  readonly reason: string;
  /** It was left out because nobody trusted this content. */
  readonly isUntrusted: boolean;
}

/** Clients hide a whole server over one name outside this alphabet (REQ-D1). */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What policies call by these names is something else. */
const RESERVED: readonly string[] = [...ACTION_GROUPS, ...OTHER_ACTIONS.map(({ name }) => name)];

/** Names that no further tool may have. */
export const takenNames = ({ tools }: Pick<Registered, "tools">): readonly string[] => [
  ...tools.map(({ name }) => name),
  ...RESERVED,
];

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Throws for a tool that must not be registered. */
export const checkTool = (tool: Tool, taken: ReadonlySet<string>): void => {
  if (!TOOL_NAME.test(tool.name))
    throw new Error("a tool's name may hold letters, digits, _ and - only, 64 at most");
  if (taken.has(tool.name)) throw new Error(`a tool named ${tool.name} exists already`);
  if (!EFFECTS.includes(tool.effect))
    throw new Error(`${tool.name}: effect must be one of ${EFFECTS.join(", ")}`);
  if (tool.family !== undefined && tool.family !== "admin")
    throw new Error(`${tool.name}: family is "admin" or left out`);
  if (tool.name.startsWith("admin_") && tool.family === undefined)
    throw new Error(`${tool.name}: a tool of this name needs family: "admin"`);
  if (typeof tool.run !== "function" || typeof tool.render !== "function")
    throw new Error(`${tool.name}: needs run and render`);
  if (tool.input?.["~standard"] === undefined)
    throw new Error(`${tool.name}: input must be a schema (kit.z or kit.jsonSchema)`);
};

const hasRegister = (loaded: unknown): loaded is { register: (kit: ModuleKit) => unknown } =>
  typeof loaded === "object" &&
  loaded !== null &&
  "register" in loaded &&
  typeof loaded.register === "function";

/** Loads every module of the folder. One that is broken is reported and left out whole; the others are not affected. */
export const loadCustomModules = async (
  folder: string,
  source: ModuleSource,
  jsonSchema: ModuleKit["jsonSchema"],
  builtIn: Registered,
): Promise<{ readonly registered: Registered; readonly failures: readonly Failure[] }> => {
  const all = {
    tools: [] as Tool[],
    prompts: [] as Prompt[],
    resources: [] as Resource[],
    templates: [] as ResourceTemplate[],
  };
  const failures: Failure[] = [];
  const taken = new Set(takenNames(builtIn));
  for (const path of await source.list(folder)) {
    const own: typeof all = { tools: [], prompts: [], resources: [], templates: [] };
    const names = new Set(taken);
    try {
      const loaded = await source.load(path);
      if (!hasRegister(loaded)) throw new Error("it exports no function named register");
      await loaded.register({
        z,
        jsonSchema,
        fail: (message, { code = "invalid_args", hint } = {}) =>
          new LlmcError(code, message, hint === undefined ? {} : { hint }),
        tool: (tool) => {
          const plain = defineTool(tool);
          checkTool(plain, names);
          names.add(plain.name);
          // What a module reaches is unknown here, so each of its tools fails for itself.
          own.tools.push({ backend: plain.name, ...plain });
        },
        prompt: (prompt) => own.prompts.push(prompt),
        resource: (resource) => own.resources.push(resource),
        resourceTemplate: (template) => own.templates.push(template),
      });
    } catch (thrown) {
      const error = toLlmcError(thrown);
      const cause = error.cause instanceof Error ? error.cause.message : error.message;
      failures.push({ file: nameOf(path), reason: cause, isUntrusted: error.code === "forbidden" });
      continue;
    }
    for (const tool of own.tools) taken.add(tool.name);
    all.tools.push(...own.tools);
    all.prompts.push(...own.prompts);
    all.resources.push(...own.resources);
    all.templates.push(...own.templates);
  }
  const tools = all.tools.map((tool) => ({ name: tool.name, load: async () => tool }));
  return { registered: { ...all, tools }, failures };
};
