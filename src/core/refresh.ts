import type { Resource } from "../tools/contract.ts";
import type { Policy } from "./escalate.ts";
import type { PublishedTool } from "./publish.ts";
import type { Registry } from "./registry.ts";

/** What changed for clients: the lists that they may have cached. */
export type ListKind = "tools" | "prompts" | "resources";

interface RefreshParts {
  readonly registry: Registry;
  readonly listTools: () => readonly PublishedTool[];
  /** Those that everybody sees. */
  readonly sharedResources: () => Promise<readonly Resource[]>;
  readonly policy: Policy;
  readonly onRebuilt: () => void;
}

const fingerprint = (published: readonly unknown[]): string => JSON.stringify(published);

/** Rebuilds the catalogue and tells listeners which of the lists, that clients may have cached, changed. */
export const createRefresh = ({ registry, listTools, sharedResources, policy, onRebuilt }: RefreshParts) => {
  const listeners = new Set<(kind: ListKind) => void>();
  const refreshedListeners = new Set<() => void>();
  let policyVersion = policy.version();
  const fingerprints = async (): Promise<Readonly<Record<ListKind, string>>> => ({
    tools: fingerprint([policyVersion, listTools()]),
    prompts: fingerprint(registry.catalogue().prompts),
    resources: fingerprint([await sharedResources(), registry.catalogue().templates]),
  });
  const refreshNow = async (): Promise<void> => {
    const before = await fingerprints();
    await registry.rebuild();
    policyVersion = policy.version();
    onRebuilt();
    const after = await fingerprints();
    for (const kind of ["tools", "prompts", "resources"] as const) {
      if (before[kind] !== after[kind]) for (const listener of listeners) listener(kind);
    }
    for (const listener of refreshedListeners) listener();
  };
  let refreshed = Promise.resolve();
  return {
    // One after the other: a refresh that takes longer to load must not overwrite a later one with outdated settings.
    refresh: (): Promise<void> => {
      refreshed = refreshed.then(refreshNow, refreshNow);
      return refreshed;
    },
    onListChanged: (listener: (kind: ListKind) => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onRefreshed: (listener: () => void): (() => void) => {
      refreshedListeners.add(listener);
      return () => refreshedListeners.delete(listener);
    },
  };
};
