import { readdir } from "node:fs/promises";
import { posix } from "node:path";
import { isInside } from "../../../base/paths.ts";
import { SYSTEM_PATH } from "../../os/system-programs.ts";
import { readOwnFileSoon } from "../../own-files/read-own-file.ts";

/** The person who runs this program, and the workspace. */
export interface User {
  readonly home: string;
  readonly workspace: string;
  /** Further folders that callers may write. */
  readonly otherRoots?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ProgramFolder {
  readonly folder: string;
  /** As a person would call it. */
  readonly location: string;
}

interface Manager {
  readonly name: string;
  /** The variable that moves it, and where it is otherwise, relative to the home. */
  readonly variable?: string;
  readonly base: string;
  /** Its programs, relative to the base; `*` stands for one name. */
  readonly programs: readonly string[];
  /** Programs that only choose a version: they need the whole home, so the versions are used instead. */
  readonly shims?: string;
  /** Files that say which version is wanted, in the workspace and in the base. */
  readonly pins?: readonly string[];
  readonly defaults?: readonly string[];
}

const MANAGERS: readonly Manager[] = [
  {
    name: "nvm",
    variable: "NVM_DIR",
    base: ".nvm",
    programs: ["versions/node/*/bin"],
    pins: [".nvmrc", ".node-version"],
    defaults: ["alias/default"],
  },
  {
    name: "fnm",
    variable: "FNM_DIR",
    base: ".local/share/fnm",
    programs: ["node-versions/*/installation/bin"],
    pins: [".nvmrc", ".node-version"],
  },
  {
    name: "volta",
    variable: "VOLTA_HOME",
    base: ".volta",
    programs: ["tools/image/*/*/bin"],
    shims: "bin",
    pins: [".node-version"],
  },
  {
    name: "asdf",
    variable: "ASDF_DATA_DIR",
    base: ".asdf",
    programs: ["installs/*/*/bin"],
    shims: "shims",
    pins: [".tool-versions"],
  },
  {
    name: "mise",
    variable: "MISE_DATA_DIR",
    base: ".local/share/mise",
    programs: ["installs/*/*/bin"],
    shims: "shims",
    pins: ["mise.toml", ".mise.toml", ".tool-versions"],
  },
  {
    name: "pyenv",
    variable: "PYENV_ROOT",
    base: ".pyenv",
    programs: ["versions/*/bin"],
    shims: "shims",
    pins: [".python-version"],
    defaults: ["version"],
  },
  {
    name: "rbenv",
    variable: "RBENV_ROOT",
    base: ".rbenv",
    programs: ["versions/*/bin"],
    shims: "shims",
    pins: [".ruby-version"],
    defaults: ["version"],
  },
  {
    name: "rustup",
    variable: "RUSTUP_HOME",
    base: ".rustup",
    programs: ["toolchains/*/bin"],
    pins: ["rust-toolchain", "rust-toolchain.toml"],
    defaults: ["settings.toml"],
  },
  { name: "SDKMAN", variable: "SDKMAN_DIR", base: ".sdkman", programs: ["candidates/*/current/bin"] },
];

const HOME_FOLDERS: readonly string[] = [".local/bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin"];
const WORKSPACE_FOLDERS: readonly string[] = ["node_modules/.bin", ".venv/bin", "venv/bin"];

const baseOf = ({ variable, base }: Manager, { home, env }: User): string => {
  const moved = variable === undefined ? undefined : env[variable];
  return moved !== undefined && posix.isAbsolute(moved) ? moved : posix.join(home, base);
};

/** Newer versions first. */
const compareVersions = (one: string, other: string): number =>
  other.localeCompare(one, "en", { numeric: true, sensitivity: "base" });

const expand = async (base: string, pattern: string): Promise<readonly string[]> => {
  const [first = "", ...rest] = pattern.split("/");
  if (pattern === "") return [base];
  const names = first === "*" ? (await readdir(base).catch(() => [])).toSorted(compareVersions) : [first];
  const found = await Promise.all(names.map((name) => expand(posix.join(base, name), rest.join("/"))));
  return found.flat();
};

/** The names in a file that says which version is wanted, such as `22`, `v22.1.0` or `python 3.12.1`. */
const versionNamesIn = async (path: string): Promise<readonly string[]> => {
  const bytes = await readOwnFileSoon(path, { maxBytes: 4096 }).catch(() => undefined);
  return [...(bytes?.toString("utf8") ?? "").matchAll(/[\w.-]+/g)].map(([word]) =>
    word.replace(/^v(?=\d)/, ""),
  );
};

const isVersion = (folder: string, word: string): boolean =>
  folder
    .split("/")
    .map((part) => part.replace(/^v(?=\d)/, ""))
    .some(
      (part) =>
        part === word || part.startsWith(`${word}.`) || (part.startsWith(`${word}-`) && word.length > 3),
    );

/** The programs of a manager, the version that is wanted here first. */
const foldersOf = async (manager: Manager, user: User): Promise<readonly ProgramFolder[]> => {
  const base = baseOf(manager, user);
  const folders = (await Promise.all(manager.programs.map((pattern) => expand(base, pattern)))).flat();
  const files = [
    ...(manager.pins ?? []).map((name) => posix.join(user.workspace, name)),
    ...(manager.defaults ?? []).map((name) => posix.join(base, name)),
  ];
  const wanted = (await Promise.all(files.map(versionNamesIn))).flat();
  const rank = (folder: string): number => {
    const at = wanted.findIndex((word) => isVersion(folder.slice(base.length), word));
    return at === -1 ? wanted.length : at;
  };
  return folders
    .toSorted((one, other) => rank(one) - rank(other))
    .map((folder) => ({ folder, location: manager.name }));
};

/** What package managers put in front of the PATH of what they start. */
const OF_PACKAGES = /\/(?:node_modules\/\.bin|node-gyp-bin)$/;

/** What a workspace puts on the PATH is not the user's choice, except the virtual environment that they activated. */
const isForeign = (folder: string, { env, workspace }: User): boolean => {
  const activated = env["VIRTUAL_ENV"];
  const isActivated = activated !== undefined && posix.join(activated, "bin") === posix.join(folder, ".");
  return OF_PACKAGES.test(folder) || (isInside(folder, workspace) && !isActivated);
};

const systemFolder = (folder: string): ProgramFolder => ({ folder, location: "the system" });

/** In the order of the user's PATH, with the versions that a shim would choose from in its place. */
const foldersOnPath = async (user: User): Promise<readonly ProgramFolder[]> => {
  const shims = new Map(
    MANAGERS.flatMap((one) =>
      one.shims === undefined ? [] : [[posix.join(baseOf(one, user), one.shims), one] as const],
    ),
  );
  const found = await Promise.all(
    (user.env["PATH"] ?? "").split(":").map(async (folder): Promise<readonly ProgramFolder[]> => {
      if (!posix.isAbsolute(folder) || isForeign(folder, user)) return [];
      if (SYSTEM_PATH.includes(folder)) return [systemFolder(folder)];
      const manager = shims.get(folder.replace(/\/+$/, ""));
      return manager === undefined ? [{ folder, location: "your PATH" }] : foldersOf(manager, user);
    }),
  );
  return found.flat();
};

/** Where programs are looked for, the first that has one wins: what the user's shell finds, and what it does not. */
export const programFolders = async (user: User): Promise<readonly ProgramFolder[]> => [
  ...(await foldersOnPath(user)),
  ...SYSTEM_PATH.map(systemFolder),
  ...WORKSPACE_FOLDERS.map((name) => ({
    folder: posix.join(user.workspace, name),
    location: "the workspace",
  })),
  ...(await Promise.all(MANAGERS.map((manager) => foldersOf(manager, user)))).flat(),
  ...HOME_FOLDERS.map((name) => ({ folder: posix.join(user.home, name), location: `~/${name}` })),
];

/** The same for a message: short, and also what is not installed. */
export const SEARCHED: readonly string[] = [
  "your PATH",
  "the system's folders",
  ...WORKSPACE_FOLDERS,
  ...MANAGERS.map(({ name }) => name),
  ...HOME_FOLDERS.map((name) => `~/${name}`),
];
