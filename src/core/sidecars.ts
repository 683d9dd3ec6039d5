import type { Resource } from "../tools/contract.ts";
import type { Ports } from "../tools/tool.ts";

/** Sidecars are meant to be small; a longer one is truncated, not refused. */
const MAX_SIDECAR = { offsetLines: 0, maxLines: 20_000, maxBytes: 1_048_576 };

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/**
 * The configured documents as resources `llmc://docs/NAME`. Two of the same name are distinguished by their paths.
 */
export const sidecarResources = (paths: readonly string[], files: Ports["files"]): readonly Resource[] => {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(baseName(path), (counts.get(baseName(path)) ?? 0) + 1);
  return paths.map((path): Resource => {
    const name = (counts.get(baseName(path)) ?? 0) > 1 ? path : baseName(path);
    const uri = `llmc://docs/${encodeURI(name)}`;
    const mimeType = path.endsWith(".md") ? "text/markdown" : "text/plain";
    return {
      uri,
      name,
      mimeType,
      read: async ({ signal }) => ({
        uri,
        mimeType,
        text: (await files.readText(path, MAX_SIDECAR, signal)).text,
      }),
    };
  });
};

/** Those that exist now: a document may come and go while the server runs. */
export const presentSidecars = async (
  paths: readonly string[],
  files: Ports["files"],
): Promise<readonly string[]> => {
  const present = await Promise.all(
    paths.map((path) =>
      files.stat(path).then(
        ({ type }) => type === "file",
        () => false,
      ),
    ),
  );
  return paths.filter((_, i) => present[i]);
};

interface SidecarWatchParts {
  readonly paths: () => readonly string[];
  readonly files: Ports["files"];
  /** Calls back when a workspace file changes; returns the stop function. */
  readonly watchFile: (path: string, changed: () => void) => () => void;
}

/** Tells listeners the URI of a sidecar whose content changed. Files are watched only while somebody listens. */
export const createSidecarWatch = ({ paths, files, watchFile }: SidecarWatchParts) => {
  const listeners = new Set<(uri: string) => void>();
  let stops: readonly (() => void)[] = [];

  const stop = (): void => {
    for (const each of stops) each();
    stops = [];
  };

  const restart = (): void => {
    stop();
    if (listeners.size === 0) return;
    const watched = paths();
    const resources = sidecarResources(watched, files);
    stops = watched.map((path, i) =>
      watchFile(path, () => {
        for (const listener of listeners) listener(resources[i]?.uri ?? "");
      }),
    );
  };

  return {
    restart,
    stop,
    onUpdated: (listener: (uri: string) => void): (() => void) => {
      listeners.add(listener);
      if (stops.length === 0) restart();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
  };
};
