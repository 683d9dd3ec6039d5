import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { excludeNames } from "../../policy/command-exclusions.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { followed } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";

/** What may be a path in an argument: all of it, the value of an option (`--file=x`, `-fx`), a file of a revision (`HEAD:x`). */
const pathsIn = (argument: string): readonly string[] =>
  [
    argument,
    ...(argument.includes("=") ? [argument.slice(argument.indexOf("=") + 1)] : []),
    ...(argument.includes(":") ? [argument.slice(argument.indexOf(":") + 1)] : []),
    ...(/^-[^-]./.test(argument) ? [argument.slice(2)] : []),
  ].filter((path) => path !== "" && !path.includes("\0"));

/** A secret that is named outright, or through a link, is refused in every tier; the sandbox hides the others. */
export const refuseSecrets = (args: readonly string[], cwd: string, { rules, isWithheld }: Reach): void => {
  for (const path of args.flatMap(pathsIn)) {
    const named = posix.resolve(cwd, path);
    const found = followed(named);
    // What is not there is a pattern, a message or a branch, and nothing that could be read.
    if (found !== undefined && (isWithheld(named) || isWithheld(found.real, found.stats)))
      throw pathDenied(path, "denylist", rules);
  }
};

export const refuseRecursive = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} goes through folders by itself, and would show withheld files.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Use rg or grep, which can be told to leave them out.",
  });

/** The plain tier hides nothing from a program; some can be told what to leave out. */
export const withoutNames = (
  program: string,
  [file, ...args]: readonly [string, ...string[]],
  secrets: readonly string[],
): readonly [string, ...string[]] => {
  const names = [...new Set(secrets.map((path) => posix.basename(path)))];
  const exclusion = excludeNames(program, args, names);
  if (exclusion.kind === "refused") throw refuseRecursive(program);
  return [file, ...exclusion.args];
};

/** Where nothing confines a command, a path that plainly leads outside is refused; a link inside the roots may still. */
export const refuseOutside = (args: readonly string[], cwd: string, { rules }: Reach): void => {
  for (const argument of args) {
    const isPath = argument.startsWith("/") || argument.split("/").includes("..");
    if (isPath && !insideRoots(posix.resolve(cwd, argument), rules.roots))
      throw pathDenied(argument, "outside", rules);
  }
};
