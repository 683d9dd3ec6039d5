import type { GrantedPaths } from "../policy/permit.ts";
import type { Ports } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { type Call, createCall, type PipeSettings } from "./call.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Guard } from "./guard.ts";
import type { Registry } from "./registry.ts";

export interface CorePorts {
  readonly main: Ports;
  readonly linux: Ports;
  /** The same, with paths that somebody allowed besides the roots. */
  outside(kind: "main" | "linux", granted: GrantedPaths): Ports;
  /** Where a path leads; undefined if nothing is there. */
  realPathOf(path: string): Promise<string | undefined>;
}

interface CallsParts {
  readonly settings: () => PipeSettings;
  readonly ports: CorePorts;
  readonly registry: Registry;
  readonly guard: Guard;
  readonly authorizer: Authorizer;
  readonly dispatcher: Dispatcher;
}

/** Calls over the catalogue in force, and over all tools. */
export const createCalls = ({
  ports,
  registry: { catalogue, catalogueOf },
  ...common
}: CallsParts): { readonly call: Call; readonly callInAnyMode: Call } => {
  const pipe = {
    ...common,
    portsOf: (tool: string, granted: GrantedPaths) => {
      const kind = tool.startsWith("linux_") ? "linux" : "main";
      return granted.paths.length === 0 ? ports[kind] : ports.outside(kind, granted);
    },
    realPathOf: ports.realPathOf,
  };
  return {
    call: createCall({ ...pipe, catalogue }),
    callInAnyMode: async (request) => {
      const offered = await catalogueOf("classic", request.tool).then(
        (one) => () => one,
        // Thrown inside the pipe: a module that cannot be loaded is answered and recorded like any failure of a tool.
        (error: unknown) => () => {
          throw error;
        },
      );
      return createCall({ ...pipe, catalogue: offered })(request);
    },
  };
};
