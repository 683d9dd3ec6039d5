import type { Resource } from "../tools/contract.ts";
import type { Ports } from "../tools/tool.ts";

/** Sidecars are small by purpose; a longer one is cut, not refused. */
const MAX_SIDECAR = { offsetLines: 0, maxLines: 20_000, maxBytes: 1_048_576 };

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The configured documents as resources `llmc://docs/NAME`. Two of the same name are told apart by their paths. */
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
