import { plural } from "../base/text.ts";
import type { QuarantineFlags } from "./actions.ts";
import { confirmChange } from "./confirm-change.ts";
import { type Io, onOneLine } from "./io.ts";

/** What commands left behind and llmc renamed; the wiring provides it. */
export interface Quarantine {
  readonly paths: readonly string[];
  /** There may be more. */
  readonly isCut: boolean;
  remove(path: string): Promise<void>;
}

/** `llmc quarantine`: lists what was renamed because programs would obey it; with `--remove`, asks and removes it. */
export const runQuarantine = async (
  { paths, isCut, remove }: Quarantine,
  io: Io,
  options: QuarantineFlags,
): Promise<void> => {
  if (options.json && !options.remove) {
    io.data(`${JSON.stringify({ paths, complete: !isCut }, null, 2)}\n`);
    return;
  }
  if (paths.length === 0) {
    io.out("Nothing is in quarantine.\n");
    return;
  }
  for (const path of paths) io.out(`${onOneLine(path)}\n`);
  if (isCut) io.out("There may be more: run this again when these are gone.\n");
  if (!options.remove) {
    io.out(
      `${plural(paths.length, "renamed name")}: commands made them, and programs would have obeyed them. mv brings one back; llmc quarantine --remove removes all.\n`,
    );
    return;
  }
  const question = `Remove ${plural(paths.length, "renamed name")} for good?`;
  const hint = "Look at the list, and add --yes to remove what is in it.";
  if (!(await confirmChange(io, options.yes, { question, done: "removed", hint }))) return;
  // One that a program made too deep, or keeps filling, does not keep the others.
  const failures: unknown[] = [];
  for (const path of paths) await remove(path).catch((thrown: unknown) => failures.push(thrown));
  io.out(`Removed ${plural(paths.length - failures.length, "renamed name")}.\n`);
  if (failures.length > 0) throw failures[0];
};
