import type { Loaded } from "../config/load.ts";
import type { ConfigStore } from "../config/store.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";
import type { createExecutableSource } from "../host/trust/executable-source.ts";
import type { createModuleSource } from "../host/trust/module-source.ts";
import { lazyPort } from "./lazy-port.ts";
import { EXECUTABLES_KEY, MODULES_KEY } from "./load.ts";

type Modules = ReturnType<typeof createModuleSource>;
type Executables = ReturnType<typeof createExecutableSource>;

const NOTHING_GRANTED = {};

/** Of files in a folder that a workspace's own file names, the contents that were granted; the operator's need no digest. */
const grantedDigests = (
  { origins, workspaceFile, digests }: Loaded,
  key: string,
): Readonly<Record<string, string>> | undefined =>
  workspaceFile !== undefined && origins.get(key)?.source === "file"
    ? (digests[key] ?? NOTHING_GRANTED)
    : undefined;

/** Custom modules and executables; those that a command may have written are looked at again when that was checked. */
export const openCustomCode = (
  store: ConfigStore,
  { mayHaveWritten, onChecked }: Pick<LiveWriters, "mayHaveWritten" | "onChecked">,
): { readonly modules: Modules; readonly executables: Executables } => {
  let modules: Modules | undefined;
  let executables: Executables | undefined;
  onChecked(() => {
    const isWaiting = [modules?.wasWaiting(), executables?.wasWaiting()];
    if (isWaiting.includes(true)) void store.reload();
  });
  return {
    modules: lazyPort<Modules>(async () => {
      const { createModuleSource } = await import("../host/trust/module-source.ts");
      modules ??= createModuleSource(() => grantedDigests(store.current(), MODULES_KEY), mayHaveWritten);
      return modules;
    }),
    executables: lazyPort<Executables>(async () => {
      const { createExecutableSource } = await import("../host/trust/executable-source.ts");
      executables ??= createExecutableSource(
        () => grantedDigests(store.current(), EXECUTABLES_KEY),
        mayHaveWritten,
      );
      return executables;
    }),
  };
};
