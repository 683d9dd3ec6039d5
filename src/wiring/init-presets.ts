import { join } from "node:path";
import type { InitFlags } from "../cli/actions.ts";
import { describeProgram } from "../cli/allow-command.ts";
import type { Io } from "../cli/io.ts";
import { presetsFor } from "../config/presets.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { draftWith } from "./allow.ts";
import type { AppRequest } from "./app.ts";

const listed = (names: readonly string[]): string => names.join(", ");

/** The template with the programs of the project's kind, if the person wants them. Everything is told on stderr. */
export const withPresets = async (
  template: string,
  request: AppRequest,
  io: Io,
  { preset, print }: Pick<InitFlags, "preset" | "print">,
): Promise<string> => {
  const disk = createDisk();
  const presets = await presetsFor((file) => disk.exists(join(request.root, file)), preset);
  const wanted = presets.flatMap((one) => one.programs);
  if (wanted.length === 0) return template;
  const kinds = listed(presets.map(({ name }) => name));
  const { text, programs: found, inWorkspace, missing } = await draftWith(request, wanted, template);
  if (missing.length > 0) io.err(`note: not found on this machine: ${listed(missing)}\n`);
  if (inWorkspace.length > 0)
    io.err(`note: in the workspace, so not allowed by a preset: llmc allow ${inWorkspace.join(" ")}\n`);
  if (found.length === 0) return template;
  const names = found.map(({ name }) => name);
  const canAsk = io.canAsk && print !== true;
  if (preset === undefined && !canAsk) {
    io.err(
      `This looks like a project for ${kinds}: llmc allow ${names.join(" ")} lets commands run its programs.\n`,
    );
    return template;
  }
  for (const program of found) io.err(describeProgram(program));
  const isWanted =
    preset !== undefined ||
    (await io.confirm(`This looks like a project for ${kinds}. Allow ${listed(names)}?`));
  if (isWanted) io.err(`Allowed: ${listed(names)}.\n`);
  return isWanted ? text : template;
};
