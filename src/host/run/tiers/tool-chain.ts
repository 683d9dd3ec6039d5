import { homedir } from "node:os";
import { dirname, posix } from "node:path";
import { isInside } from "../../../base/paths.ts";
import { SYSTEM_PATH } from "../../os/system-programs.ts";

/** Variables by which programs find folders of the user's home; the first group is the value. */
const VARIABLES: readonly (readonly [name: string, folder: RegExp])[] = [
  // Not the whole of it is opened: it also holds the user's credentials.
  ["CARGO_HOME", /^(.*\/\.cargo)\/(?:registry|git)$/],
  ["RUSTUP_HOME", /^(.*\/\.rustup)(?:\/toolchains(?:\/[^/]+)?)?$/],
  ["GOMODCACHE", /^(.*\/pkg\/mod)$/],
  ["GRADLE_RO_DEP_CACHE", /^(.*\/\.gradle\/caches)$/],
];

const BIN = /\/\.?bin$/;

/**
 * How programs find the tool chain that the user sees: commands have a home of their own, so those that look into the
 * user's get variables that say where it is. They can read only what the operator opened there.
 */
export const toolChainEnvironment = (
  /** The program that is started. */
  program: string,
  /** `mcp.tools.command_read_paths`, as real paths. */
  folders: readonly string[],
): Readonly<Record<string, string>> => {
  const own = posix.dirname(program);
  const variables = folders.flatMap((folder) =>
    VARIABLES.flatMap(([name, pattern]) => {
      const value = pattern.exec(folder)?.[1];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
  const path = [
    // Whoever listed a program by its path vouches for its neighbours: they are its tool chain.
    ...(BIN.test(own) && !SYSTEM_PATH.includes(own) ? [own] : []),
    ...folders.map((folder) => (BIN.test(folder) ? folder : posix.join(folder, "bin"))),
    ...SYSTEM_PATH,
  ];
  return { ...Object.fromEntries(variables), PATH: [...new Set(path)].join(":") };
};

const PROGRAM_FOLDERS = /\/(bin|sbin|libexec|\.bin)$/;

/**
 * What must be readable to run a program from outside the system's folders: the prefix it was installed under
 * (`…/versions/3.12` of `…/versions/3.12/bin/python`), or the file alone where that prefix would open more than
 * a tool chain: a home, something above it, a dot folder in it (`~/.local`, `~/.cargo` hold keys), `/opt`.
 */
export const toolChainOf = (program: string, home = homedir()): string => {
  const folder = dirname(program);
  if (!PROGRAM_FOLDERS.test(folder)) return program;
  const prefix = dirname(folder);
  const isTooWide =
    prefix.split("/").length < 3 ||
    isInside(home, prefix) ||
    (dirname(prefix) === home && prefix.startsWith(`${home}/.`));
  return isTooWide ? program : prefix;
};
