import { resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import { logSettings } from "../config/log-settings.ts";
import type { ConfigStore } from "../config/store.ts";
import { trustFolder, type UserFolders } from "../config/user-folders.ts";
import { describeWaiting } from "../config/waiting.ts";
import type { Core } from "../core/core.ts";
import type { Stderr } from "../host/os/stdio.ts";
import type { Disk } from "../host/own-files/disk.ts";
import { createTrustFiles } from "../host/trust/trust-files.ts";
import type { LiveLog } from "../observe/log.ts";
import type { Observer } from "../observe/observer.ts";
import type { FollowedPolicies } from "./policy-store.ts";
import { trustCommand } from "./trust-command-line.ts";

interface Followed {
  readonly root: string;
  readonly cwd: string;
  readonly folders: UserFolders;
  readonly stderr: Stderr;
  /** Whether edits are noticed, besides reloads that somebody asks for. */
  readonly watch: boolean;
}

/** One log line that explains why values of the workspace's file have no effect. */
export const warnOfWaiting = (
  { waiting }: Loaded,
  where: Pick<Followed, "root" | "cwd">,
  log: Observer["log"],
): void => {
  if (waiting.length === 0) return;
  log.warn({ waiting: waiting.map(({ key }) => key) }, describeWaiting(waiting, trustCommand(where)));
};

/** Follows the configuration file while the program runs. */
export const followConfig = async (
  { watch, folders, stderr, root, cwd }: Followed,
  store: ConfigStore,
  log: LiveLog,
  core: Pick<Core, "settings">,
  policies: Pick<FollowedPolicies, "refresh" | "reload">,
  sources: Readonly<Record<"modules" | "executables", { hasChanged(folder: string): Promise<boolean> }>>,
  disk: Disk,
): Promise<() => void> => {
  store.onChange((next, _previous, { changed, needsRestart }) => {
    log.configure(logSettings(next, stderr.isTerminal));
    log.info({ changed, needs_restart: needsRestart }, "configuration reloaded");
    warnOfWaiting(next, { root, cwd }, log);
    void policies.refresh();
  });
  // The file says the same, but the modules and scripts in its folders may be others. Those that are the same keep what they hold.
  store.onUnchanged(async () => {
    const { customModules, executables } = core.settings();
    const isChanged =
      (customModules !== undefined && (await sources.modules.hasChanged(customModules))) ||
      (executables !== undefined && (await sources.executables.hasChanged(executables)));
    // Policies of the workspace may have been trusted.
    await (isChanged ? policies.refresh() : policies.reload());
  });
  if (!watch) return () => {};
  // The folder is created so that trust granted in another terminal is noticed; if the home folder is not writable,
  // nothing is watched.
  await createTrustFiles()
    .makeFolder(trustFolder(folders.state))
    .catch(() => {});
  return store.watch(disk);
};

/** Calls back when a file of the workspace changes. */
export const watchFileIn =
  (root: string, disk: Disk) =>
  (path: string, changed: () => void): (() => void) => {
    try {
      return disk.watch(resolve(root, path), changed);
    } catch {
      // The folder does not exist, or the system has no watches left: clients see changes when they read.
      return () => {};
    }
  };
