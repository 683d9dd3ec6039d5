import { join, resolve } from "node:path";
import { toLlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import { removeOldFiles } from "../host/own-files/old-files.ts";
import { makeFolders } from "../host/own-files/own-folder.ts";
import { replaceFile } from "../host/own-files/replace-file.ts";
import type { Log } from "../observe/log.ts";

interface TraceParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly userState: string;
  readonly log: Log;
}

const PRIVATE_MODE = 0o600;
const PRIVATE_FOLDER_MODE = 0o700;
const DAY_MS = 86_400_000;
const TRACE_NAME = /^rlm-[\w-]+\.json$/;

/** Where traces are kept; a relative path is one of the workspace. */
export const traceFolder = (config: Loaded["config"], root: string, userState: string): string =>
  config.mcp.rlm.trace_dir === "" ? join(userState, "traces") : resolve(root, config.mcp.rlm.trace_dir);

/** Each is a write of its own, and calls are many and small. */
const PIECE_CHARS = 64 * 1024;

/** The same text in fewer pieces; others have their turn between them. */
async function* inLargePieces(pieces: Iterable<string>): AsyncGenerator<string> {
  let held = "";
  for (const piece of pieces) {
    held += piece;
    if (held.length < PIECE_CHARS) continue;
    yield held;
    held = "";
  }
  yield held;
}

/** Renders and keeps a trace; undefined where that fails: the answer is paid for, and its caller gets it all the same. */
export const saveTraceIn =
  ({ root, config, userState, log }: TraceParts, correlationId: string) =>
  async (sessionId: string, pieces: Iterable<string>): Promise<string | undefined> => {
    const folder = traceFolder(config(), root, userState);
    const name = `rlm-${sessionId}.json`;
    const warn = (message: string) => (thrown: unknown) => {
      log.warn({ correlation_id: correlationId, code: toLlmcError(thrown).code }, message);
      return false;
    };
    const write = async (): Promise<true> => {
      makeFolders(folder, PRIVATE_FOLDER_MODE);
      await replaceFile(join(folder, name), inLargePieces(pieces), PRIVATE_MODE);
      return true;
    };
    if (!(await write().catch(warn("the trace could not be written")))) return undefined;
    const { trace_max_files: maxFiles, trace_max_days: days } = config().mcp.rlm;
    const maxAgeMs = days === 0 ? Number.POSITIVE_INFINITY : days * DAY_MS;
    await removeOldFiles(folder, { names: TRACE_NAME, maxFiles, maxAgeMs }, Date.now()).catch(
      warn("old traces could not be removed"),
    );
    // Callers learn its name, not the operator's folders.
    return name;
  };
