import type { Caller, Resource } from "../tools/contract.ts";
import type { Ports } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { handleResources } from "./handle-resources.ts";
import type { Registry } from "./registry.ts";
import { presentSidecars, sidecarResources } from "./sidecars.ts";

/** The resources that clients can list. */
export const createResourceLists = (
  settings: () => { readonly sidecars: readonly string[] },
  { files, handles }: Ports,
  registry: Registry,
  { mayUseEndpoint }: Authorizer,
) => {
  /** Those that everybody sees. */
  const shared = async (): Promise<readonly Resource[]> => {
    const present = await presentSidecars(settings().sidecars, files);
    return [...sidecarResources(present, files), ...registry.catalogue().resources];
  };
  return {
    shared,
    of: async (caller: Caller): Promise<readonly Resource[]> => {
      const allowed = mayUseEndpoint("resources/read", caller);
      return [...(await shared()), ...(allowed ? await handleResources(handles, caller) : [])];
    },
  };
};
