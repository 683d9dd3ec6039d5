import { isInside } from "../base/paths.ts";
import type { Finding } from "../cli/doctor-command.ts";
import { type Quarantine, runQuarantine } from "../cli/quarantine-command.ts";
import type { Loaded } from "../config/load.ts";
import { createPathRules } from "../host/reach/path-rules.ts";
import { findRefusedNames, removeRefused } from "../host/run/scan/refused-names.ts";
import { shownPath } from "../policy/paths.ts";
import type { ActionsOf } from "./invocation.ts";
import { loadFor } from "./load.ts";
import { requestOf } from "./request.ts";

const openQuarantine = async (root: string, { config }: Loaded): Promise<Quarantine> => {
  const { rules } = createPathRules(root, () => config.mcp.tools.allowed_roots)();
  const { paths, isCut } = await findRefusedNames(rules.roots);
  const byShown = new Map(paths.map((path) => [shownPath(path, rules.workspace), path]));
  return {
    paths: [...byShown.keys()],
    isCut,
    remove: async (shown) => {
      const path = byShown.get(shown);
      const top = path === undefined ? undefined : rules.roots.find((folder) => isInside(path, folder));
      if (path !== undefined && top !== undefined) await removeRefused(top, path);
    },
  };
};

export const quarantineActions: ActionsOf<"quarantine"> = (run) => ({
  quarantine: async (options) => {
    const request = await requestOf(run, options);
    await runQuarantine(await openQuarantine(request.root, await loadFor(request)), run.io, options);
  },
});

/** Of as many, doctor names the folder of the first. */
export const examineQuarantine = async (
  root: string,
  loaded: Loaded | undefined,
): Promise<readonly Finding[]> => {
  if (loaded === undefined) return [];
  const { paths, isCut } = await openQuarantine(root, loaded);
  const [first] = paths;
  if (first === undefined) return [];
  const count = `${paths.length}${isCut ? " or more" : ""}`;
  return [
    {
      name: "quarantine",
      state: "weak",
      detail: `${count} names that commands made and llmc renamed are kept, such as ${first}`,
      fix: "llmc quarantine lists them, llmc quarantine --remove removes them",
    },
  ];
};
