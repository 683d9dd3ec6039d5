import { posix } from "node:path";
import { meaningOf, runsAnyCode, usualPowers } from "../../../policy/commands.ts";
import type { Power } from "../../../policy/powers.ts";
import type { UserProgram } from "./find-program.ts";

/** What a command may do beyond the configuration, because somebody agreed to it. */
export interface CommandGrant {
  readonly allowlist: readonly string[];
  /** As PROGRAM:POWER. */
  readonly powers: readonly string[];
  readonly readPaths: readonly string[];
  /** Programs of the workspace, which callers may write: they were granted with this content. */
  readonly programs: readonly GrantedProgram[];
}

interface GrantedProgram {
  readonly path: string;
  readonly realPath: string;
  readonly content: string;
}

export interface GrantPlan extends CommandGrant {
  /** The file of a program that is not allowed yet, and where links lead from there. */
  readonly path: string | undefined;
  readonly realPath: string | undefined;
  readonly meaning: readonly string[];
  /** Names the content of a program in the workspace. */
  readonly content: string;
}

export const NO_GRANT: CommandGrant = { allowlist: [], powers: [], readPaths: [], programs: [] };

export const joinGrants = (a: CommandGrant, b: CommandGrant): CommandGrant => ({
  allowlist: [...a.allowlist, ...b.allowlist],
  powers: [...a.powers, ...b.powers],
  readPaths: [...a.readPaths, ...b.readPaths],
  programs: [...a.programs, ...b.programs],
});

/** PROGRAM:POWER; anything else is a program. */
const POWER = /^([^:/]+):(\w+)$/;

const meaningsOf = (name: string, powers: readonly string[]): readonly string[] => [
  ...(runsAnyCode(name) && !powers.includes("run") ? [meaningOf(name, "run")] : []),
  ...powers.map((power) => meaningOf(name, power as Power)),
];

/** What has to be granted for what a refusal names, as `llmc allow` would write it. */
export const planGrant = async (
  needs: readonly string[],
  find: (name: string) => Promise<UserProgram>,
): Promise<GrantPlan> => {
  const powers = needs.filter((need) => POWER.test(need));
  const [program] = needs.filter((need) => !POWER.test(need));
  if (program === undefined) {
    const [, name = ""] = POWER.exec(powers[0] ?? "") ?? [];
    const wanted = powers.map((power) => power.slice(name.length + 1));
    const meaning = meaningsOf(name, wanted);
    return { ...NO_GRANT, powers, path: undefined, realPath: undefined, meaning, content: "" };
  }
  const { name, entry, path, realPath, readPaths, content, inWorkspace } = await find(program);
  const usual = usualPowers(name);
  const realName = posix.basename(realPath);
  return {
    allowlist: [entry],
    powers: usual.map((power) => `${name}:${power}`),
    readPaths,
    programs: content === "" ? [] : [{ path, realPath, content }],
    path,
    realPath,
    meaning: [
      ...meaningsOf(name, usual),
      ...(realName === name ? [] : meaningsOf(realName, usualPowers(realName))),
      ...(content === "" ? [] : ["It lies in the workspace: whoever may write there decides what it does"]),
      ...(inWorkspace === undefined
        ? []
        : [`The workspace has one of its own, ${inWorkspace}, which this does not allow`]),
    ],
    content,
  };
};
