import { LlmcError } from "../base/error.ts";
import { systemErrorCode } from "../base/system-error.ts";
import { explainAsJson, explainKey } from "../config/explain.ts";
import type { Loaded } from "../config/load.ts";
import { describeConfig, toJson } from "../config/show.ts";
import { fullTemplate, shortTemplate } from "../config/template.ts";
import { describeWaiting } from "../config/waiting.ts";
import type { Io } from "./io.ts";

export const showConfig = (
  loaded: Loaded,
  io: Io,
  options: { readonly origin: boolean; readonly json: boolean },
): void => {
  io[options.json ? "data" : "out"](
    options.json ? `${JSON.stringify(toJson(loaded, options), null, 2)}\n` : describeConfig(loaded, options),
  );
};

export const validateConfig = (loaded: Loaded, io: Io, options: { readonly json: boolean }): void => {
  if (options.json) {
    const { file, warnings, waiting } = toJson(loaded, { origin: false });
    io.data(`${JSON.stringify({ valid: true, file, warnings, waiting }, null, 2)}\n`);
    return;
  }
  for (const warning of loaded.warnings) io.err(`note: ${warning}\n`);
  if (loaded.waiting.length > 0) io.err(`note: ${describeWaiting(loaded.waiting)}\n`);
  io.out(
    loaded.file === undefined
      ? `No config file at ${loaded.lookedAt}: the defaults apply (hybrid mode).\n`
      : `${loaded.file} is valid.\n`,
  );
};

/** Without `loaded`, which a file with an error cannot give, the key is explained without its value. */
export const explainConfig = (
  key: string,
  loaded: Loaded | undefined,
  io: Io,
  options: { readonly json: boolean },
): void => {
  io[options.json ? "data" : "out"](
    options.json
      ? `${JSON.stringify(explainAsJson(key, loaded), null, 2)}\n`
      : `${explainKey(key, loaded)}\n`,
  );
};

interface InitDisk {
  exists(path: string): Promise<boolean>;
  writeText(path: string, text: string): Promise<void>;
}

interface InitOptions {
  /** Every key instead of those that most people change. */
  readonly all: boolean;
  readonly print: boolean;
  /** Adds what the project's programs need. */
  readonly extend: (template: string) => Promise<string>;
}

/** Writes the commented configuration file; an existing one is never touched. Returns the text that was written; undefined if it was printed. */
export const runInit = async (
  path: string,
  disk: InitDisk,
  io: Io,
  { all, print, extend }: InitOptions,
): Promise<string | undefined> => {
  if (!print && (await disk.exists(path))) {
    throw new LlmcError("invalid_args", `${path} already exists; nothing was written.`, {
      hint: "Edit it, or remove it first. llmc allow PROGRAM adds programs to it.",
    });
  }
  const text = await extend(all ? fullTemplate() : shortTemplate());
  if (print) {
    io.data(text);
    return undefined;
  }
  await disk.writeText(path, text).catch((cause: unknown) => {
    const code = systemErrorCode(cause);
    if (code === undefined) throw cause;
    throw new LlmcError("permission_denied", `${path} cannot be written (${code}).`, {
      hint: "llmc init --print prints it.",
      cause,
    });
  });
  io.out(
    `Wrote ${path}. Edits take effect while the server runs.${all ? "" : " llmc init --all --print shows every key."}\n`,
  );
  return text;
};
