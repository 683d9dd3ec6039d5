import { withHint } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { type PathRefusal, pathDenied, resolveRequestedPath } from "../../policy/paths.ts";
import { explainFailure, translate } from "./explain-failure.ts";
import type { Located } from "./located.ts";
import type { CallerReach, Reach } from "./reach.ts";

/**
 * The only way to read anything: what `use` gets was judged, and is held by a descriptor until it is done. The names of
 * withheld files are no secret; opening their content is refused here, whoever asks.
 */
export type Access = <T>(
  requestedPath: string,
  signal: AbortSignal | undefined,
  use: (located: Located, reach: Reach) => T | Promise<T>,
) => Promise<T>;

export const createAccess =
  (source: CallerReach): Access =>
  async (requestedPath, signal, use) => {
    stopIfAborted(signal);
    const reach = source.current();
    const { rules, locate, refuseRead, refuseWritten } = reach;
    const path = resolveRequestedPath(requestedPath, rules.workspace);
    const deny = (reason: PathRefusal | undefined): void => {
      if (reason === undefined) return;
      const hint = reason === "outside" ? source.outsideHint?.(path) : undefined;
      throw withHint(pathDenied(requestedPath, reason, rules), hint);
    };
    deny(refuseWritten(path));
    const judge = (realPath: string): void => deny(refuseRead(realPath, "name"));
    const located = await locate(path, judge).catch(async (error: unknown) => {
      throw await explainFailure(error, requestedPath, path, reach);
    });
    try {
      stopIfAborted(signal);
      if (!located.stats.isFile() && !located.stats.isDirectory())
        throw pathDenied(requestedPath, "kind", rules);
      const openContent = (): Promise<number> => {
        deny(refuseRead(located.realPath, "content of a seen name", located.stats));
        return located.openContent();
      };
      return await use({ ...located, openContent }, reach);
    } catch (error) {
      // What is no failure, such as a question to the user, passes as it is.
      throw systemErrorCode(error) === undefined ? error : translate(error, requestedPath);
    } finally {
      located.close();
    }
  };
