import { hash } from "node:crypto";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { SourceTree, TreeRead } from "../../host/fetch/source-tree.ts";
import type { SourceItem, SourceOptions } from "../contract.ts";
import { isDocumentName } from "../formats-table.ts";
import { readProjectFacts } from "./project-facts.ts";

export const contentHash = (bytes: Uint8Array): string => hash("sha256", bytes, "base64url");

export const toSourceError = (thrown: unknown): LlmcError =>
  thrown instanceof LlmcError
    ? thrown
    : new LlmcError("unavailable", "The document could not be read.", { cause: thrown });

const failureOf = (kind: Exclude<TreeRead["kind"], "bytes">, maxBytes: number): LlmcError => {
  if (kind === "large")
    return new LlmcError("file_too_large", `The document is larger than ${maxBytes} bytes.`);
  if (kind === "unnamed")
    return new LlmcError("invalid_args", "The name of the file, or of a folder above it, is not UTF-8.", {
      hint: "Rename it.",
    });
  return kind === "unreadable"
    ? new LlmcError("permission_denied", "The file cannot be read.")
    : new LlmcError("file_not_found", "The file is gone, or its content is withheld.");
};

/** One document's bytes, in the time that one may take. */
const readDocument = async (
  tree: SourceTree,
  path: string,
  { maxDocumentBytes, timeoutMs }: SourceOptions,
  signal: AbortSignal | undefined,
): Promise<TreeRead | { readonly kind: "failed"; readonly error: LlmcError }> => {
  const timeout = AbortSignal.timeout(timeoutMs);
  const within = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    return await tree.read(path, maxDocumentBytes, within);
  } catch (thrown) {
    stopIfAborted(signal);
    const error = timeout.aborted
      ? new LlmcError("timeout", `Reading the document took longer than ${timeoutMs / 1000} s.`)
      : toSourceError(thrown);
    return { kind: "failed", error };
  }
};

/** The documents of a folder or of a commit, in order of their paths. */
export async function* readTree(
  tree: SourceTree,
  options: SourceOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  const factsOf = await readProjectFacts(tree, options.timeoutMs, signal);
  for (const { path, error } of tree.failures) {
    // A folder that cannot be listed, or more files than are listed.
    yield { kind: "failure", id: path, error, isIncomplete: true };
  }
  const documents = tree.files.filter(({ path }) => isDocumentName(path));
  const total = Math.min(documents.length, options.maxDocuments);
  for (const { path } of documents.slice(0, options.maxDocuments)) {
    stopIfAborted(signal);
    const read = await readDocument(tree, path, options, signal);
    if (read.kind === "failed") yield { kind: "failure", id: path, total, error: read.error };
    else if (read.kind !== "bytes")
      yield { kind: "failure", id: path, total, error: failureOf(read.kind, options.maxDocumentBytes) };
    else {
      const { bytes } = read;
      yield {
        kind: "document",
        id: path,
        total,
        name: posix.basename(path),
        bytes,
        contentHash: contentHash(bytes),
        ...factsOf(path),
      };
    }
  }
  if (documents.length > options.maxDocuments) {
    const message = `The source has more than ${options.maxDocuments} documents; the rest was left out.`;
    yield {
      kind: "failure",
      id: ".",
      error: new LlmcError("file_too_large", message),
      isIncomplete: true,
    };
  }
}
