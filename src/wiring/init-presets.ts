import { basename, join } from "node:path";
import type { InitFlags } from "../cli/actions.ts";
import { describeProgram } from "../cli/allow-command.ts";
import type { Io } from "../cli/io.ts";
import { presetsFor } from "../config/presets.ts";
import { isOnMachine } from "../host/os/system-programs.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { draftWith } from "./allow.ts";
import type { AppRequest } from "./app.ts";
import { loadFor } from "./load.ts";

const listed = (names: readonly string[]): string => names.join(", ");

const programsLine = (kinds: string, names: readonly string[]): string =>
  `This looks like a project for ${kinds}: llmc allow ${names.join(" ")} lets commands run its programs.\n`;

const presetsOf = (request: Pick<AppRequest, "root">, preset?: readonly string[]) => {
  const disk = createDisk();
  return presetsFor((file) => disk.exists(join(request.root, file)), preset);
};

/** Of what may be many more. */
const MAX_NAMED = 30;

/** For a person who has just connected a client: what commands may start, and how to allow what the project needs. */
export const describePrograms = async (request: AppRequest): Promise<string> => {
  const { enable_run_cmd: isOn, run_cmd_allowlist: allowlist } = (await loadFor(request)).config.mcp.tools;
  if (!isOn) return "Commands are switched off (mcp.tools.enable_run_cmd).\n";
  const allowed = [...new Set(allowlist.filter(isOnMachine).map((entry) => basename(entry)))];
  const more = allowed.length > MAX_NAMED ? ` and ${allowed.length - MAX_NAMED} more` : "";
  const line = `Commands may run ${listed(allowed.slice(0, MAX_NAMED)) || "nothing"}${more}; llmc allow PROGRAM adds others.\n`;
  const presets = await presetsOf(request);
  const wanted = presets.flatMap(({ programs }) => programs).filter((name) => !allowed.includes(name));
  if (wanted.length === 0) return line;
  const { programs } = await draftWith(request, wanted, "");
  const names = programs.map(({ name }) => name);
  return names.length === 0 ? line : `${line}${programsLine(listed(presets.map(({ name }) => name)), names)}`;
};

/** The template with the programs of the project's kind, if the person wants them. All messages go to stderr. */
export const withPresets = async (
  template: string,
  request: AppRequest,
  io: Io,
  { preset, print }: Pick<InitFlags, "preset" | "print">,
): Promise<string> => {
  const presets = await presetsOf(request, preset);
  const allowed = (await loadFor({ ...request, configPath: undefined })).config.mcp.tools.run_cmd_allowlist;
  const isAllowed = (name: string): boolean => allowed.some((entry) => basename(entry) === name);
  // Who names a preset wants all of it in the new file.
  const wanted = presets
    .flatMap((one) => one.programs)
    .filter((name) => preset !== undefined || !isAllowed(name));
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
    io.err(programsLine(kinds, names));
    return template;
  }
  for (const program of found) io.err(describeProgram(program));
  const isWanted =
    preset !== undefined ||
    (await io.confirm(`This looks like a project for ${kinds}. Allow ${listed(names)}?`));
  if (isWanted) io.err(`Allowed: ${listed(names)}.\n`);
  return isWanted ? text : template;
};
