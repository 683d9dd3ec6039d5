import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { isMissing } from "../../base/system-error.ts";
import { readOwnFile } from "./read-own-file.ts";

export interface FlowFile {
  /** Without its folder. */
  readonly name: string;
  /** Its text, or why it cannot be read. */
  readonly text: string | LlmcError;
}

const MAX_BYTES = 256 * 1024;
const MAX_FILES = 500;

const readFlowFile = (folder: string, name: string): FlowFile["text"] => {
  try {
    return readOwnFile(join(folder, name), { maxBytes: MAX_BYTES, noFollow: true }).toString();
  } catch (cause) {
    return new LlmcError("config_invalid", `The flow ${name} cannot be read.`, { cause });
  }
};

/** The declarations of flows in a folder that the operator named; links are not followed. */
export const readFlowFiles = (folder: string): readonly FlowFile[] => {
  let names: readonly string[];
  try {
    names = readdirSync(folder).filter((name) => /^[^.].*\.(?:toml|json)$/.test(name));
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw new LlmcError("config_invalid", "The folder of flows (mcp.kb.flows) cannot be read.", { cause });
  }
  const sorted = names.toSorted();
  const files = sorted
    .slice(0, MAX_FILES)
    .map((name): FlowFile => ({ name, text: readFlowFile(folder, name) }));
  const [beyond] = sorted.slice(MAX_FILES);
  if (beyond === undefined) return files;
  const tooMany = new LlmcError("config_invalid", `The flow ${beyond} and those after it are not read.`, {
    hint: `A folder of flows has at most ${MAX_FILES} files.`,
  });
  return [...files, { name: beyond, text: tooMany }];
};
