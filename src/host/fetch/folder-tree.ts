import { realpathSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { createReach } from "../reach/reach.ts";
import { createSourceFiles, NOT_UTF8 } from "../search/source-files.ts";
import type { SourceTree, TreeOptions, TreeRead } from "./source-tree.ts";

/** Where the operator points: links on the way there are the operator's own. */
const realOf = (path: string): { readonly path: string; readonly isFile: boolean } => {
  try {
    const real = realpathSync.native(resolve(path));
    const stats = statSync(real);
    if (stats.isFile() || stats.isDirectory()) return { path: real, isFile: stats.isFile() };
  } catch (cause) {
    throw new LlmcError("file_not_found", `There is no source ${quoteForMessage(path)} that can be read.`, {
      cause,
      hint: "A source is a file, a folder, git+PATH#REVISION or a URL. llmc kb forget NAME SOURCE takes out one that has gone.",
    });
  }
  throw new LlmcError("path_denied", `${quoteForMessage(path)} is neither a file nor a folder.`);
};

const unreadable = (): LlmcError => new LlmcError("permission_denied", "The folder cannot be read.");

/**
 * A folder that may lie outside the roots, because the operator named it. Its files are found and opened like those of a
 * root: ignore files are obeyed, links lead nowhere, and secrets are withheld by their names.
 */
export const openFolderTree = async (
  path: string,
  { denylist, closed, maxFiles }: TreeOptions,
  signal?: AbortSignal,
): Promise<SourceTree> => {
  const named = realOf(path);
  const folder = named.isFile ? dirname(named.path) : named.path;
  const reach = createReach({
    workspace: folder,
    roots: () => [folder],
    denylist: () => denylist,
    obeyedPaths: () => ({ user: closed }),
  });
  const source = createSourceFiles({ reach, maxFiles });
  const read = async (file: string, maxBytes: number, stop?: AbortSignal): Promise<TreeRead> => {
    if (file.includes(NOT_UTF8)) return { kind: "unnamed" };
    const found = await source.readBytes(file, maxBytes, stop);
    if (found.kind === "bytes") return { kind: "bytes", bytes: found.bytes };
    return { kind: found.kind === "large" || found.kind === "unreadable" ? found.kind : "gone" };
  };
  const end = async (): Promise<void> => undefined;
  if (named.isFile) {
    const files = [{ path: basename(named.path), size: statSync(named.path).size }];
    return { files, failures: [], read, [Symbol.asyncDispose]: end };
  }
  const { files, unnamed, isCut, unread } = await source.list(signal);
  const failures = unread.first.map((unreadPath) => ({ path: unreadPath, error: unreadable() }));
  if (isCut) {
    const error = new LlmcError(
      "file_too_large",
      `The folder has more than ${maxFiles} files; the rest was left out.`,
    );
    failures.push({ path: ".", error });
  }
  const all = [...files, ...unnamed.map((unnamedPath) => ({ path: unnamedPath, size: 0 }))];
  return { files: all, failures, read, [Symbol.asyncDispose]: end };
};
