import { LlmcError } from "../base/error.ts";
import { explainKey } from "../config/explain.ts";
import type { Loaded } from "../config/load.ts";
import { describeConfig, toJson } from "../config/show.ts";
import { configTemplate } from "../config/template.ts";
import { describeWaiting } from "../config/waiting.ts";
import type { Io } from "./io.ts";

export const showConfig = (
  loaded: Loaded,
  io: Io,
  options: { readonly origin: boolean; readonly json: boolean },
): void => {
  io.out(
    options.json ? `${JSON.stringify(toJson(loaded, options), null, 2)}\n` : describeConfig(loaded, options),
  );
};

export const validateConfig = (loaded: Loaded, io: Io): void => {
  for (const warning of loaded.warnings) io.err(`note: ${warning}\n`);
  if (loaded.waiting.length > 0) io.err(`note: ${describeWaiting(loaded.waiting)}\n`);
  io.out(
    loaded.file === undefined
      ? `No config file at ${loaded.lookedAt}: the defaults apply (hybrid mode).\n`
      : `${loaded.file} is valid.\n`,
  );
};

export const explainConfig = (key: string, loaded: Loaded, io: Io): void => {
  io.out(`${explainKey(key, loaded)}\n`);
};

interface InitDisk {
  exists(path: string): Promise<boolean>;
  writeText(path: string, text: string): Promise<void>;
}

/** Writes the commented configuration file; an existing one is never touched. */
export const runInit = async (path: string, disk: InitDisk, io: Io): Promise<void> => {
  if (await disk.exists(path)) {
    throw new LlmcError("invalid_args", `${path} already exists; nothing was written.`, {
      hint: "Edit it, or remove it first.",
    });
  }
  await disk.writeText(path, configTemplate());
  io.out(`Wrote ${path}. It lists every key with its default; edits take effect while the server runs.\n`);
};
