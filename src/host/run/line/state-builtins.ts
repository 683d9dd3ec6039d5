import { homedir } from "node:os";
import { refuseConstruct } from "../../../policy/shell/refusals.ts";
import type { Access } from "../../reach/access.ts";
import { changeDirectory, type ShellState } from "./shell-state.ts";

const LETTERS: Readonly<Record<string, "isStrict" | "isPipefail" | undefined>> = {
  e: "isStrict",
  // A variable without a value is refused in any case.
  u: undefined,
};
const NAMES: Readonly<Record<string, "isStrict" | "isPipefail" | undefined>> = {
  errexit: "isStrict",
  pipefail: "isPipefail",
  nounset: undefined,
};

/** `set` with the options that scripts begin with. */
export const setOptions = (args: readonly string[], before: ShellState): ShellState => {
  const refused = refuseConstruct(
    "set with these options",
    ["set", ...args].join(" "),
    "Leave it out; set -e, -u and -o pipefail work.",
  );
  if (args.length === 0) throw refused;
  let state = before;
  const turn = (flags: typeof NAMES, key: string, isOn: boolean): void => {
    if (!Object.hasOwn(flags, key)) throw refused;
    const flag = flags[key];
    if (flag !== undefined) state = { ...state, [flag]: isOn };
  };
  for (let at = 0; at < args.length; at++) {
    const [, sign, letters = ""] = /^([-+])([euo]+)$/.exec(args[at] ?? "") ?? [];
    if (sign === undefined) throw refused;
    for (const letter of letters)
      if (letter === "o") turn(NAMES, args[++at] ?? "", sign === "-");
      else turn(LETTERS, letter, sign === "-");
  }
  return state;
};

const shortened = (path: string): string => {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
};

const listFolders = ({ cwd, folders = [] }: ShellState): string =>
  `${[cwd, ...folders].map(shortened).join(" ")}\n`;

/** `pushd DIR` and `popd`: the output and the new state, or an error message. */
export const changeStack = async (
  name: "pushd" | "popd",
  args: readonly string[],
  state: ShellState,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<{ readonly state: ShellState; readonly stdout: string } | string> => {
  const { folders = [] } = state;
  const isPush = name === "pushd";
  const target = isPush ? args[0] : folders[0];
  if (args.length !== (isPush ? 1 : 0) || /^[-+]/.test(args[0] ?? ""))
    throw refuseConstruct(
      name,
      [name, ...args].join(" "),
      "Use pushd DIR, popd, or cd: cd DIR && …; cd - goes back.",
    );
  if (target === undefined) return "popd: directory stack empty";
  const next = await changeDirectory(state, [target], access, signal);
  if (typeof next === "string") return next.replace(/^cd/, name);
  const changed = { ...next, folders: isPush ? [state.cwd, ...folders] : folders.slice(1) };
  return { state: changed, stdout: listFolders(changed) };
};
