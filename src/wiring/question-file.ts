import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { systemErrorCode } from "../base/system-error.ts";
import { readOwnFile } from "../host/own-files/read-own-file.ts";
import { MAX_QUERY_CHARS } from "../tools/rag-shape.ts";
import type { Invocation } from "./invocation.ts";

/** A log that somebody takes for a report: its beginning is read, and no more. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

const readQuestion = async ({ io, cwd }: Invocation, file: string): Promise<string> => {
  if (file === "-") return io.readInput(MAX_FILE_BYTES);
  try {
    return readOwnFile(resolve(cwd, file), { maxBytes: MAX_FILE_BYTES }).toString();
  } catch (cause) {
    const why = systemErrorCode(cause) === "ENOENT" ? "does not exist" : "cannot be read";
    throw new LlmcError("invalid_args", `${file} ${why}.`, {
      hint: "Give a text file, or - for stdin.",
      cause,
    });
  }
};

/** The question of `llmc search`: as typed, or out of a file. */
export const questionOf = async (
  run: Invocation,
  typed: string | undefined,
  file: string | undefined,
): Promise<string> => {
  if ((typed === undefined) === (file === undefined))
    throw new LlmcError("invalid_args", "A search needs one question: as an argument, or --file.", {
      hint: 'llmc search "where are uploads validated", or llmc search --file report.md',
    });
  const question = typed ?? (await readQuestion(run, file ?? ""));
  if (question.length <= MAX_QUERY_CHARS) return question;
  run.io.err(`note: only the first ${MAX_QUERY_CHARS} characters are read.\n`);
  return question.slice(0, MAX_QUERY_CHARS);
};
