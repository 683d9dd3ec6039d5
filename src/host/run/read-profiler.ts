import { LlmcError } from "../../base/error.ts";
import { insideRoots } from "../../policy/paths.ts";
import { closedPaths } from "../../policy/reach.ts";
import type { CallerReach } from "../reach/reach.ts";
import { createFinders } from "./profiler.ts";
import { buildProfile } from "./sandbox-profile.ts";
import { createScans } from "./scan/workspace-scan.ts";
import type { SandboxProfile } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";

interface ReadProfilerOptions {
  /** Its roots are the folders that may be read. */
  readonly reach: CallerReach;
  /** Withheld files of other roots, which may have further names in these. */
  readonly secretsElsewhere: () => Promise<readonly string[]>;
}

const NOTHING_OPENED = { folders: [], hidden: [], withheld: [] };

const isClosed = (): LlmcError =>
  new LlmcError("unavailable", "A folder that programs may read lies in one of the server's own.", {
    hint: "The operator names another one.",
    retryable: false,
  });

/** Makes the sandbox profile of programs that read some folders: what no command sees in its roots, they do not see there. */
export type ReadProfiler = ReturnType<typeof createReadProfiler>;

export const createReadProfiler = ({ reach: source, secretsElsewhere }: ReadProfilerOptions) => {
  const scans = createScans(source);
  const { scanRoots } = createFinders(source);
  return async (limits: CommandLimits): Promise<SandboxProfile> => {
    const { reach, scan } = scans.now();
    const { roots } = reach.rules;
    const closed = closedPaths("commands", reach.reachRules);
    if (roots.some((root) => insideRoots(root, closed))) throw isClosed();
    const elsewhere = roots.length === 0 ? [] : await secretsElsewhere();
    const { found } = await scanRoots(scan, roots, elsewhere);
    const request = { cwd: "/", writes: false, network: false, noFork: true, limits, git: undefined };
    return buildProfile({ ...request, guardsNames: true, readPaths: NOTHING_OPENED }, reach, found, []);
  };
};
