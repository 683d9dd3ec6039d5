import { quoteForMessage } from "../../base/text.ts";
import { isPath } from "../../symbols/answers/files.ts";
import type { LoadedFile } from "./loaded-index.ts";
import type { FileState } from "./store.ts";

const REASONS: Readonly<Record<Exclude<FileState, "indexed">, (file: LoadedFile) => string>> = {
  large: ({ size }) => `it has ${size} bytes, more than mcp.rag.max_file_kb allows`,
  binary: () => "it is a binary file",
  unreadable: () => "the system does not let llmc read it",
  failed: () => "it could not be parsed",
};

/** Why the file that a question names (`path`, `path:line`, `path:name`) is not in the index. */
export const leftOutOf = (
  files: ReadonlyMap<string, LoadedFile>,
  workspace: string,
  asked: string,
): string | undefined => {
  const path = asked.startsWith(`${workspace}/`)
    ? asked.slice(workspace.length + 1)
    : asked.replace(/^(\.\/)+/, "");
  const file = files.get(path) ?? files.get(path.replace(/:[^:/]*$/, ""));
  if (file === undefined && isPath(path)) return `there is no file ${quoteForMessage(path)} in the index`;
  return file === undefined || file.state === "indexed"
    ? undefined
    : `${file.path} is left out of the index: ${REASONS[file.state](file)}`;
};
