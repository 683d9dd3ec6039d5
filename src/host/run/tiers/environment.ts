import { LlmcError } from "../../../base/error.ts";
import { SYSTEM_PATH } from "../../os/system-programs.ts";
import type { CommandRequest } from "./contract.ts";

/** Names by which a program loads code, runs another or finds its configuration elsewhere. */
const REFUSED =
  /^(LD_.*|DYLD_.*|GIT_.*|NODE_PATH|PYTHON.*|BASH_ENV|BASH_FUNC_.*|ENV|SHELLOPTS|PERL.*|RUBY.*|PATH|HOME|SHELL|TMPDIR|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|EDITOR|VISUAL|IFS|GLIBC_TUNABLES|GCONV_PATH|.*_OPTIONS|LLMC_.*)$/i;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** How to do without the variables that people set most. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  PYTHONPATH: " python3 -m NAME finds modules in the working folder, and pytest takes -o pythonpath=FOLDER.",
  NODE_OPTIONS: " Write the options behind node itself: node --max-old-space-size=4096 FILE.",
};

/** An editor that edits nothing. Agents set it so that git asks nobody; git starts nothing for `:`. */
export const isNoEditor = (name: string, value: string): boolean =>
  /^GIT_(SEQUENCE_)?EDITOR$/.test(name) && /^(true|:)$/.test(value);

/** Throws for a variable that no command may be given. */
export const checkVariables = (added: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(added)) {
    if (!NAME.test(name) || value.includes("\0"))
      throw new LlmcError("invalid_args", "An environment variable has an invalid name or value.", {
        details: { field: "env" },
      });
    if (REFUSED.test(name) && !isNoEditor(name, value))
      throw new LlmcError("forbidden", `The environment variable ${name} cannot be set for a command.`, {
        hint: `It could make a program run other code; leave it out.${WAYS_OUT[name] ?? ""}`,
        details: { field: "env" },
      });
  }
};

/** What only git gets: who commits, and how far up it may look for a repository. */
export const gitEnvironment = (
  git: CommandRequest["git"],
  userFile: string,
): Readonly<Record<string, string>> => {
  if (git === undefined) return {};
  const settings = git.settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    GIT_CONFIG_GLOBAL: userFile,
    GIT_CEILING_DIRECTORIES: git.ceilings.join(":"),
    ...(git.repository === undefined
      ? {}
      : {
          GIT_DIR: git.repository.gitDir,
          ...(git.repository.top === undefined ? {} : { GIT_WORK_TREE: git.repository.top }),
        }),
    ...(git.protocols === undefined ? {} : { GIT_ALLOW_PROTOCOL: git.protocols }),
    // An object that is missing in a partial clone would be fetched without being asked for.
    ...(git.protocols === "" ? { GIT_NO_LAZY_FETCH: "1" } : {}),
    GIT_CONFIG_COUNT: String(git.settings.length),
    ...Object.fromEntries(settings),
  };
};

/** Without a network, a second attempt only costs time: half a minute in npm. */
const NO_RETRIES = {
  npm_config_fetch_retries: "0",
  PIP_RETRIES: "0",
  CARGO_NET_RETRY: "0",
  UV_HTTP_RETRIES: "0",
};

/** The whole environment of a command: nothing of the server's own, which holds keys, is inherited (FAIL-C4). */
export const commandEnvironment = (
  home: string,
  temp: string,
  { env: added = {}, toolChainEnv = {} }: Pick<CommandRequest, "env" | "toolChainEnv"> = {},
  hasNetwork = true,
): Record<string, string> => {
  checkVariables(added);
  return {
    LANG: "C.UTF-8",
    TERM: "dumb",
    NO_COLOR: "1",
    ...(hasNetwork ? {} : NO_RETRIES),
    ...Object.fromEntries(
      Object.entries(added).map(([name, value]) => [name, isNoEditor(name, value) ? ":" : value]),
    ),
    PATH: SYSTEM_PATH.join(":"),
    ...toolChainEnv,
    HOME: home,
    TMPDIR: temp,
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
};
