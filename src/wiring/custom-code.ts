import type { ConfigStore } from "../config/store.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";
import type { createExecutableSource } from "../host/trust/executable-source.ts";
import type { createModuleSource } from "../host/trust/module-source.ts";
import { lazyPort } from "./lazy-port.ts";
import { EXECUTABLES_KEY, MODULES_KEY } from "./load.ts";
import { type ContentFolders, grantedDigests } from "./workspace-content.ts";

type Modules = ReturnType<typeof createModuleSource>;
type Executables = ReturnType<typeof createExecutableSource>;

/** Custom modules and executables; those that a command may have written are looked at again when that was checked. */
export const openCustomCode = (
  store: ConfigStore,
  where: ContentFolders,
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
      modules ??= createModuleSource(
        (path) => grantedDigests(store.current(), where, MODULES_KEY, path),
        mayHaveWritten,
      );
      return modules;
    }),
    executables: lazyPort<Executables>(async () => {
      const { createExecutableSource } = await import("../host/trust/executable-source.ts");
      executables ??= createExecutableSource(
        (folder) => grantedDigests(store.current(), where, EXECUTABLES_KEY, folder),
        mayHaveWritten,
      );
      return executables;
    }),
  };
};
