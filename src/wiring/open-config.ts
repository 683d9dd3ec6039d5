import { createCheckedDisk } from "../config/checked-disk.ts";
import { logSettings } from "../config/log-settings.ts";
import { toJson } from "../config/show.ts";
import { createConfigStore } from "../config/store.ts";
import type { Stderr } from "../host/os/stdio.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { createLiveWriters, type LiveWriters } from "../host/run/live-writers.ts";
import { createLog } from "../observe/log.ts";
import { warnOfWaiting } from "./follow-config.ts";
import { loadFor } from "./load.ts";

/** Tells the lines of one run from another's. Nothing depends on its being secret, and `node:crypto` would cost 5 ms here. */
const newRunId = (): string =>
  "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", () => Math.floor(Math.random() * 16).toString(16));

/** What the operator's own commands wrote is known as theirs a moment after they have written it. */
const ASK_AGAIN_MS = 500;

/** Has files read again that had to wait for the check of a command. */
const createWaiting = (writers: LiveWriters, readAgain: () => Promise<unknown>, announce: () => void) => {
  let isWaiting = false;
  let isAnnounced = false;
  const again = async (): Promise<void> => {
    if (!isWaiting) return;
    isWaiting = false;
    await readAgain();
    isAnnounced = isWaiting;
  };
  writers.onChecked(again);
  return (): void => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(again, ASK_AGAIN_MS).unref();
    if (isAnnounced) return;
    isAnnounced = true;
    announce();
  };
};

type ConfigRequest = Parameters<typeof loadFor>[0] & {
  /** Where the program was started. */
  readonly cwd: string;
  readonly stderr: Stderr;
};

/** Loads the configuration, and the log that it asks for. */
export const openConfig = async (request: ConfigRequest) => {
  const writers = createLiveWriters(() =>
    log.error(
      {},
      "what a command wrote could not be checked: configuration, policies and modules in its folders are not read again until the server is started anew",
    ),
  );
  const wait = createWaiting(
    writers,
    () => store.reload(),
    () =>
      log.warn(
        {},
        "a configuration file appeared or changed while a command runs that may have written it: it is not read unless the check of the command leaves it there",
      ),
  );
  const disk = createCheckedDisk(createDisk(), writers.mayHaveWritten, wait);
  const load = () => loadFor(request, false, disk);
  const first = await load();
  const runId = newRunId();
  const log = createLog(
    logSettings(first, request.stderr.isTerminal),
    request.stderr,
    first.config.mcp.observability.include_correlation_id ? runId : undefined,
  );
  const store = createConfigStore({
    load,
    first,
    onError: (error) =>
      log.error(
        { reason: error.message },
        "the configuration has an error; the last good one stays in force",
      ),
  });
  log.debug(
    () => ({ file: first.file ?? "none", config: toJson(first, { origin: false }) }),
    "effective configuration",
  );
  for (const warning of first.warnings) log.warn({}, warning);
  warnOfWaiting(first, request, log);
  return { store, log, writers };
};
