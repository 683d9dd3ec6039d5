import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProgramLaunch } from "../cli/connect/target.ts";

const FOLDER = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The program as people and clients start it. */
export const LAUNCHER = join(FOLDER, "bin/llmc");

const PACKAGE = "llmc-mcp";

type Environment = Readonly<Record<string, string | undefined>>;

/** npx keeps packages in folders of its cache, which may be gone tomorrow. */
const isRunByNpx = (env: Environment, folder: string): boolean =>
  env["npm_command"] === "exec" && folder.includes("/_npx/");

/**
 * Where the user's own folders are, if variables say so. Clients do not pass those on, and a server without them would
 * know neither the user's configuration nor their trust.
 */
const folderVariables = (env: Environment): Readonly<Record<string, string>> => {
  const usual = { XDG_CONFIG_HOME: ".config", XDG_STATE_HOME: ".local/state" };
  return Object.fromEntries(
    Object.entries(usual).flatMap(([variable, folder]) => {
      const value = env[variable];
      const isUsual = value === undefined || !isAbsolute(value) || value === join(env["HOME"] ?? "/", folder);
      return isUsual ? [] : [[variable, value]];
    }),
  );
};

/** How a client starts this program again: by npx if npx runs it now, else by its launcher. */
export const programLaunch = (env: Environment, folder = FOLDER, node = process.execPath): ProgramLaunch => {
  // The launcher finds a Node that is part of the program by itself.
  const hasOwnNode = node.startsWith(`${folder}/`);
  const folders = folderVariables(env);
  const absoluteNode = hasOwnNode ? folders : { LLMC_NODE: node, ...folders };
  // Who had to name a Node has none in the PATH that would do, and clients do not pass variables on.
  const namedNode = env["LLMC_NODE"] === undefined ? folders : absoluteNode;
  if (isRunByNpx(env, folder)) {
    const npm = env["npm_execpath"];
    const npx = npm === undefined ? undefined : join(dirname(npm), "npx-cli.js");
    const withPath = { command: "npx", args: ["-y", PACKAGE], env: namedNode };
    const withoutPath =
      npx === undefined
        ? withPath
        : { command: node, args: [npx, "-y", PACKAGE], env: { LLMC_NODE: node, ...folders } };
    return { withPath, withoutPath, folder };
  }
  const launcher = join(folder, "bin/llmc");
  return {
    withPath: { command: launcher, args: [], env: namedNode },
    withoutPath: { command: launcher, args: [], env: absoluteNode },
    folder,
  };
};
