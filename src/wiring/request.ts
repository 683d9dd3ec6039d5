import { homedir } from "node:os";
import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { CommonOptions } from "../cli/actions.ts";
import type { Overrides } from "../config/overrides.ts";
import { userFolders } from "../config/user-folders.ts";
import { createStderr, type Stderr } from "../host/os/stdio.ts";
import { createDisk } from "../host/own-files/disk.ts";
import type { AppRequest } from "./app.ts";
import { processSignals, type Signals } from "./signals.ts";

/** Where and by whom the program was started. */
export interface Start {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: Stderr;
  readonly signals: Signals;
}

export const processStart = (): Start => ({
  cwd: process.cwd(),
  home: homedir(),
  env: process.env,
  stderr: createStderr(),
  signals: processSignals,
});

/** Flags that stand for a configuration key. */
type Flags = CommonOptions & { readonly host?: string; readonly port?: string };

const overridesOf = (options: Flags): Overrides => {
  const set = options.set.map((assignment) => {
    const equals = assignment.indexOf("=");
    if (equals < 1)
      throw new LlmcError("invalid_args", "--set takes key=value.", {
        hint: "For example --set mcp.server.port=9000.",
      });
    return [
      assignment.slice(0, equals).trim(),
      { flag: "--set", value: assignment.slice(equals + 1) },
    ] as const;
  });
  return {
    ...Object.fromEntries(set),
    ...(options.mode === undefined ? {} : { "mcp.mode": { flag: "--mode", value: options.mode } }),
    ...(options.host === undefined ? {} : { "mcp.server.host": { flag: "--host", value: options.host } }),
    ...(options.port === undefined ? {} : { "mcp.server.port": { flag: "--port", value: options.port } }),
  };
};

const rootOf = async ({ cwd, env }: Start, { root }: CommonOptions, mayBeGone: boolean): Promise<string> => {
  const named = resolve(cwd, root ?? env["LLMC_ROOT"] ?? ".");
  const found = await createDisk().resolveFile(named);
  if (found === undefined && mayBeGone) return named;
  if (found === undefined)
    throw new LlmcError("invalid_args", `The workspace ${named} does not exist.`, {
      hint: "Name an existing folder with --root.",
    });
  return found.path;
};

export const requestOf = async (
  start: Start,
  options: CommonOptions & { readonly host?: string; readonly port?: string },
  watch = false,
  mayBeGone = false,
): Promise<AppRequest> => {
  const { cwd, env, home, stderr } = start;
  const config = options.config ?? env["LLMC_CONFIG"];
  return {
    root: await rootOf(start, options, mayBeGone),
    cwd,
    configPath: config === undefined ? undefined : resolve(cwd, config),
    overrides: overridesOf(options),
    env,
    folders: userFolders(env, home),
    stderr,
    watch,
  };
};
