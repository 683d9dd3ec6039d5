import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import { insideRoots } from "../../../policy/paths.ts";
import type { GitRepository } from "./repository.ts";

/** What git opens in a work tree by itself, without asking what it is. */
const OPENED_BY_GIT = [".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

const isPipe = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true;

/** Git would wait at a pipe (FIFO) until its deadline, and nobody would learn why. Those of further folders are not sought. */
export const refusePipes = ({ top, gitDir }: GitRepository, start: string): void => {
  const folders = [top];
  for (let folder = start; insideRoots(folder, [top]) && folder !== top; folder = posix.dirname(folder))
    folders.push(folder);
  const paths = folders.flatMap((folder) => OPENED_BY_GIT.map((name) => posix.join(folder, name)));
  const pipe = [...paths, posix.join(gitDir, "index")].find(isPipe);
  if (pipe === undefined) return;
  const name = posix.relative(top, pipe);
  throw new LlmcError(
    "forbidden",
    `git is not run in this repository: it would wait at ${name}, a named pipe.`,
    {
      hint: "Remove that file.",
    },
  );
};
