import { firstBytes } from "../base/utf8.ts";
import type { CallRecord, ProgramResult } from "./contract.ts";

/** Stands in the records of calls for names that did not fit. */
const FURTHER_NAMES = "(further names)";

type Shown = Pick<ProgramResult, "output" | "outputCut" | "files" | "filesCut" | "calls">;

/** As it is shown: a control character takes six bytes. */
const shownBytes = (name: string): number => Buffer.byteLength(JSON.stringify(name));

/**
 * A program chooses the names of its files and of the tools that it asks for, and they are shown together with its output:
 * all of it takes at most `maxBytes`. Names come first, since a file is lost without its name. The name of a tool that has
 * answered is ours and is not counted.
 */
export const boundNames = (shown: Shown, maxBytes: number): Shown => {
  let left = maxBytes;
  const fits = (name: string): boolean => {
    const bytes = shownBytes(name);
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  const answered = new Set(shown.calls.filter(({ ok }) => ok).map(({ name }) => name));
  const nameOf = ({ name }: CallRecord): string => (answered.has(name) || fits(name) ? name : FURTHER_NAMES);
  const files = shown.files.filter(({ name }) => fits(name));
  const calls = shown.calls.map((call) => ({ ...call, name: nameOf(call) }));
  const output = firstBytes(shown.output, left);
  return {
    calls,
    files,
    output,
    filesCut: shown.filesCut || files.length < shown.files.length,
    outputCut: shown.outputCut || output.length < shown.output.length,
  };
};
