import { posix } from "node:path";
import type { SourceTree } from "../../host/fetch/source-tree.ts";
import { factRank, isFactFile, type ProjectFacts, readFactFile } from "../licence/manifest.ts";

const MAX_FACT_BYTES = 256 * 1024;
/** A tree of packages has many; those of its own are near the top. */
const MAX_FACT_FILES = 500;

/** What the folders of a source say about licence and version; the nearest folder counts. Together they get the time of one document. */
export const readProjectFacts = async (
  tree: SourceTree,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<(path: string) => ProjectFacts> => {
  const timeout = AbortSignal.timeout(timeoutMs);
  const within = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const folders = new Map<string, ProjectFacts>();
  const files = tree.files.filter(({ path }) => isFactFile(posix.basename(path)));
  const depthOf = (path: string): number => path.split("/").length;
  const inOrder = files.toSorted(
    ({ path: a }, { path: b }) =>
      depthOf(a) - depthOf(b) || factRank(posix.basename(a)) - factRank(posix.basename(b)),
  );
  for (const { path } of inOrder.slice(0, MAX_FACT_FILES)) {
    const read = await tree.read(path, MAX_FACT_BYTES, within).catch(() => undefined);
    if (within.aborted) break;
    if (read?.kind !== "bytes") continue;
    const facts = readFactFile(posix.basename(path), new TextDecoder().decode(read.bytes));
    const known = folders.get(posix.dirname(path)) ?? {};
    folders.set(posix.dirname(path), {
      licence: known.licence ?? facts.licence,
      version: known.version ?? facts.version,
    });
  }
  return (path) => {
    let [licence, version]: (string | undefined)[] = [];
    for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
      const facts = folders.get(folder);
      licence ??= facts?.licence;
      version ??= facts?.version;
      if (folder === "." || folder === "/") return { licence, version: version ?? tree.version };
    }
  };
};
