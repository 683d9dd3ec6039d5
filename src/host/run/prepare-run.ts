import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import type { ReachedLimit } from "../../base/limit-notes.ts";
import { isInside } from "../../base/paths.ts";
import { insideRoots } from "../../policy/paths.ts";
import { deathSignalPrefix } from "../os/child-limits.ts";
import type { JudgedCommand } from "./contract.ts";
import type { RunPhase } from "./scan/new-findings.ts";
import { watchProtected } from "./scan/protected-names.ts";
import type { Quarantined } from "./scan/quarantined.ts";
import { bubblewrapLaunch, sharesTemp } from "./tiers/bubblewrap.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";
import { landlockLaunch } from "./tiers/landlock.ts";
import { plainLaunch } from "./tiers/plain.ts";
import { createSandboxFileStore, type SandboxFileStore, type SandboxFiles } from "./tiers/sandbox-files.ts";
import { SYSTEM_FOLDERS } from "./tiers/system-folders.ts";
import { toolChainOf } from "./tiers/tool-chain.ts";
import { type CommandGroup, type CommandGroups, createCommandGroups, enterGroup } from "./tree/cgroup.ts";
import { createMark } from "./tree/limits.ts";
import type { Launch, ProcessTree } from "./tree/process-tree.ts";
import { sealDescriptors } from "./tree/seal-descriptors.ts";
import { createUsageWatcher, type UsageWatch } from "./tree/usage-watch.ts";

/** Real paths that no program sees unless its own profile shows them. */
interface ClosedToPrograms {
  /** Never shown, whatever a profile says. */
  readonly folders: readonly string[];
  readonly roots: readonly string[];
}

const NOTHING_CLOSED: ClosedToPrograms = { folders: [], roots: [] };

/** What all runs of one runner share. */
export interface RunResources {
  /** What its programs must not see, wherever it lies; nothing where they are our own. */
  readonly closed: (() => ClosedToPrograms) | undefined;
  /** Treat Landlock as if the kernel were older. */
  readonly maxLandlockAbi: number | undefined;
  /** The user's folder for git, where it is not the usual one. */
  readonly gitFolder: string | undefined;
  store: Promise<SandboxFileStore> | undefined;
  groups: CommandGroups | undefined;
  /** Control groups that are being removed. */
  readonly removals: Set<Promise<void>>;
}

/** A prepared run with all its resources. Close it when all of its processes have ended. */
export interface PreparedRun {
  launch(): Launch;
  /** Whether it may have made or changed what is at a path; what llmc itself wrote there since then counts as not. */
  mayHaveWritten(path: string): boolean;
  /** Renames newly created files that would be obeyed. */
  quarantine(phase: RunPhase): Promise<readonly Quarantined[]>;
  /** Bounds what the tree uses, where no control group does. */
  readonly watch: ((tree: ProcessTree) => UsageWatch) | undefined;
  /** The limit of its control group that it ran into. */
  reachedLimit(): ReachedLimit | undefined;
  close(): Promise<void>;
}

const openStore = (resources: RunResources): Promise<SandboxFileStore> => {
  if (resources.store === undefined) sealDescriptors();
  resources.store ??= createSandboxFileStore(resources.gitFolder).catch((thrown: unknown) => {
    resources.store = undefined;
    throw thrown;
  });
  return resources.store;
};

/** What bounds the memory and the processes of everything that one call runs at the same time. */
export interface RunBounds {
  readonly group: CommandGroup | undefined;
  /** Where there is no group, or one that does not count the files of a program. */
  readonly watch: ReturnType<typeof createUsageWatcher> | undefined;
  close(): void;
}

/**
 * Entering a group takes the kernel some 6 ms, so programs that only read are bounded by limits and watched instead. That
 * counts pages of processes and files: who writes the program may take memory that is neither (anonymous files, System V
 * segments, shared pages that are mapped no more).
 */
export const openBounds = (resources: RunResources, commands: readonly JudgedCommand[]): RunBounds => {
  const profiles = commands.map(({ profile }) => profile);
  const limits = profiles.find((profile) => profile.limits !== undefined)?.limits;
  resources.groups ??= createCommandGroups();
  const isGrouped = limits?.needsGroup === true || profiles.some(({ writable }) => writable.length > 0);
  const group =
    limits !== undefined && isGrouped
      ? resources.groups.open(randomBytes(8).toString("hex"), limits)
      : undefined;
  const isWatched = group === undefined || limits?.filesAreMemory === true;
  return {
    group,
    watch: limits !== undefined && isWatched ? createUsageWatcher(limits) : undefined,
    close: () => {
      if (group === undefined) return;
      // The kernel takes some milliseconds to notice that a group is empty; only the end of the server waits for that.
      const removal = group.remove().finally(() => resources.removals.delete(removal));
      resources.removals.add(removal);
    },
  };
};

/**
 * The wanted profile, with limits for each process where it is watched, and without what must not be seen. A root may lie
 * in a folder of the system (`/usr/src/app` in many containers), or in that of a tool chain: whoever asked for the
 * profile need not think of that.
 */
const completeProfile = (
  wanted: SandboxProfile,
  program: string,
  base: string,
  closed: ClosedToPrograms,
  isWatched: boolean,
): SandboxProfile => {
  const { limits, writable, readableRoots = [], hidden } = wanted;
  const shown = [...writable, ...readableRoots];
  const sight = [...SYSTEM_FOLDERS, toolChainOf(program), ...shown];
  const isSeen = (path: string): boolean =>
    sight.some((folder) => isInside(path, folder)) && existsSync(path);
  return {
    ...wanted,
    hidden: [...new Set([...hidden, ...[...closed.folders, base].filter(isSeen)])],
    emptied: closed.roots.filter((root) => isSeen(root) && !shown.includes(root)),
    ...(isWatched && limits !== undefined
      ? { limits: { ...limits, dataBytes: limits.dataBytes ?? limits.memoryBytes } }
      : {}),
  };
};

const launchIn = (
  tier: Tier,
  request: CommandRequest,
  profile: SandboxProfile,
  files: SandboxFiles,
  maxLandlockAbi: number | undefined,
): Launch => {
  const mark = createMark();
  if (tier === "bubblewrap") return bubblewrapLaunch(request, profile, files, mark);
  if (tier === "landlock") return landlockLaunch(request, profile, files, mark, maxLandlockAbi);
  return plainLaunch(request, profile, files, mark);
};

/** A terminal's launcher starts the program as another process, which the filter forbids. */
const refuseTerminal = (): LlmcError =>
  new LlmcError("forbidden", "This command may start no other program, so it cannot have a terminal.", {
    hint: "Start it without pty.",
  });

/** Nothing is found any more where a whole root was. */
const movedRoots = ({ writable }: SandboxProfile, unguarded: readonly string[]): readonly Quarantined[] =>
  writable.filter((root) => unguarded.includes(root)).map((path) => ({ kind: "root moved", path }));

export const prepareRun = async (
  resources: RunResources,
  tier: Tier,
  { request, profile: wanted, quarantineNew, isLlmcWrite = () => false, restoring }: JudgedCommand,
  bounds: RunBounds,
): Promise<PreparedRun> => {
  const { group, watch } = bounds;
  if (request.terminal === true && wanted.noFork === true && tier !== "plain") throw refuseTerminal();
  const store = await openStore(resources);
  const isWatched = watch !== undefined;
  const profile = completeProfile(
    wanted,
    request.argv[0],
    store.base,
    resources.closed?.() ?? NOTHING_CLOSED,
    isWatched,
  );
  const needsFolders = tier !== "bubblewrap" || sharesTemp(profile);
  const [files, prefix, watched] = await Promise.all([
    store.open(needsFolders, request.git !== undefined),
    deathSignalPrefix(),
    watchProtected(profile, isLlmcWrite, restoring),
  ]);
  let mounts: Launch["mounts"];
  return {
    launch: () => {
      const bare = launchIn(tier, request, profile, files, resources.maxLandlockAbi);
      mounts = bare.mounts;
      // The launchers of the other tiers handle this themselves.
      const [wrapper, ...first] = tier === "plain" ? prefix : [];
      const launch =
        wrapper === undefined ? bare : { ...bare, file: wrapper, args: [...first, bare.file, ...bare.args] };
      return group === undefined ? launch : { ...launch, ...enterGroup(group, launch) };
    },
    mayHaveWritten: (path) => {
      const isHeld = tier !== "plain" && watched.isHeld(path, mounts?.unguarded() ?? []);
      return insideRoots(path, profile.writable) && !isHeld && !isLlmcWrite(path);
    },
    quarantine: async (phase) => {
      const unguarded = mounts?.unguarded() ?? [];
      // Both are done even if one of them fails, and one after the other: they may find the same name.
      const [made] = await Promise.allSettled([watched.quarantine(unguarded)]);
      const [found] = await Promise.allSettled([quarantineNew?.(phase, unguarded) ?? []]);
      if (made.status === "rejected") throw made.reason;
      if (found.status === "rejected") throw found.reason;
      const moved = phase === "running" ? [] : movedRoots(profile, unguarded);
      return [...made.value, ...found.value, ...moved];
    },
    watch: watch && ((tree) => watch(tree, needsFolders ? files.folder : undefined)),
    reachedLimit: () => group?.hit(),
    close: async () => {
      mounts?.close();
      if (needsFolders) await store.close(files);
    },
  };
};
