import { LlmcError } from "../../base/error.ts";
import type { ConfinementTier, Held, Hold, Resource } from "./contract.ts";
import type { ProgramPlan } from "./node-arguments.ts";
import type { ResourceGroups } from "./resource-groups.ts";

const kernel = (mechanism: string): Hold => ({ byKernel: true, mechanism });
const notKernel = (mechanism: string): Hold => ({ byKernel: false, mechanism });

const memoryHold = (
  tier: ConfinementTier,
  groups: ResourceGroups,
  { dataMb, isExact }: ProgramPlan,
): Hold => {
  if (groups.memory !== undefined) return kernel(`control group v${groups.memory}`);
  if (tier !== "bubblewrap" && tier !== "landlock") return notKernel("not held: no control group");
  return isExact
    ? kernel(`RLIMIT_DATA of ${dataMb} MiB`)
    : notKernel(
        `RLIMIT_DATA of ${dataMb} MiB, of which Node's compiler reserves 512: WebAssembly and TypeScript sources need it`,
      );
};

const cpuHold = (groups: ResourceGroups): Hold => {
  if (groups.cpu !== undefined) return kernel(`control group v${groups.cpu}`);
  return process.platform === "linux"
    ? notKernel("the process is paused (SIGSTOP) when it has used its share")
    : notKernel("not held");
};

const TIER_HOLDS: Readonly<Record<ConfinementTier, Pick<Held, "files" | "network" | "processes">>> = {
  bubblewrap: {
    files: kernel("mount namespace (bubblewrap), seccomp"),
    network: kernel("network namespace (bubblewrap), seccomp"),
    processes: kernel("pid namespace (bubblewrap), seccomp"),
  },
  landlock: {
    files: kernel("Landlock, seccomp; names and sizes of other files can be asked for"),
    network: kernel("seccomp: no sockets"),
    processes: kernel("seccomp"),
  },
  seatbelt: {
    files: kernel("sandbox-exec"),
    network: kernel("sandbox-exec"),
    processes: kernel("sandbox-exec"),
  },
  permission: {
    files: notKernel("Node's permission model"),
    network: notKernel("not held"),
    processes: notKernel("Node's permission model"),
  },
};

/** What holds a program in a tier. */
export const heldIn = (tier: ConfinementTier, groups: ResourceGroups, plan: ProgramPlan): Held => ({
  ...TIER_HOLDS[tier],
  memory: memoryHold(tier, groups, plan),
  cpu: cpuHold(groups),
});

/** What `sandbox_enabled = true` asks of the kernel. The share of the CPU may be held by pausing. */
const REQUIRED: readonly Resource[] = ["files", "network", "processes", "memory"];

export const missingHolds = (held: Held): readonly Resource[] =>
  REQUIRED.filter((resource) => !held[resource].byKernel);

/** What an operator can do so that the kernel holds everything. */
export const installHint = (refusals: readonly string[]): string => {
  if (process.platform !== "linux")
    return process.platform === "win32"
      ? "Run the server in WSL, which is a Linux."
      : "This system bounds no memory; leave `mcp.sandbox_enabled` out to use what it has.";
  return refusals.some((why) => why.includes("not installed"))
    ? "Install bubblewrap (the package is called bubblewrap everywhere), or use a kernel with Landlock (5.13 or later)."
    : "Let bubblewrap make user namespaces (kernel.unprivileged_userns_clone=1, or a profile for it under AppArmor), or use a kernel with Landlock (5.13 or later); memory needs a control group or the built package.";
};

/** Reached only where tiers were left out: Node's permission model works everywhere. */
export const refuseEverywhere = (refusals: readonly string[]): LlmcError =>
  new LlmcError("unavailable", "A program of the server could not be started in its sandbox.", {
    hint: installHint(refusals),
    cause: refusals.join("\n"),
  });

export const refuseUnheld = (held: Held, refusals: readonly string[]): LlmcError => {
  const missing = missingHolds(held);
  return new LlmcError(
    "unavailable",
    `The kernel of this machine does not hold: ${missing.map((one) => `${one} (${held[one].mechanism})`).join(", ")}.`,
    { hint: installHint(refusals), cause: refusals.join("\n") },
  );
};
