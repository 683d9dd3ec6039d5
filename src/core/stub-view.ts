import type { Caller } from "../tools/contract.ts";
import type { StubView, Tool } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { publishTool } from "./publish.ts";
import type { StubFiles } from "./stubs/stub-files.ts";
import { stubPathOf } from "./stubs/stub-path.ts";
import type { StubTool } from "./stubs/stub-tool.ts";

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
  // Clients wait for the tool list, which needs no stubs.
  const load = async () => ({
    ...(await import("./stubs/stub-files.ts")),
    ...(await import("./stubs/describe-tool.ts")),
  });
  const filesFor = async (caller: Caller): Promise<StubFiles> => {
    const possible = (await tools()).filter(
      (tool) => tool.name !== NOT_FOR_PROGRAMS && isPossible(tool, caller),
    );
    const key = possible.map(({ name }) => name).join();
    const { createStubFiles, toStubTool } = await load();
    const describe = (tool: Tool): StubTool => {
      const stub = described.get(tool) ?? toStubTool(publishTool(tool, { outputSchema: true }));
      described.set(tool, stub);
      return stub;
    };
    const known = kept.get(key) ?? createStubFiles(possible.map(describe));
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, known);
    return known;
  };
  return {
    pathOf: stubPathOf,
    list: async (path, caller) => (await load()).listStubs(await filesFor(caller), path),
    read: async (path, caller) => (await load()).readStub(await filesFor(caller), path),
    search: async (query, limit, caller) => (await load()).searchStubs(await filesFor(caller), query, limit),
    clear: () => kept.clear(),
  };
};
