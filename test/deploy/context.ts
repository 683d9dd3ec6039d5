import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parsePath } from "../../src/policy/globs.ts";

export const REPOSITORY = join(import.meta.dirname, "../..");

export const readFromRoot = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

/** Whether a file of the repository reaches the build: the last pattern of .dockerignore that fits it or a folder above. */
export const createContextFilter = (ignoreFile: string): ((path: string) => boolean) => {
  const rules = ignoreFile
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const pattern = line.replace(/^!/, "").replace(/\/$/, "");
      // With everything below, as the last part stands for any number of folders.
      const fits = parsePath(`${pattern}/**`, pattern);
      return { keeps: line.startsWith("!"), fits };
    });
  return (path) => rules.findLast(({ fits }) => fits(path.split("/")))?.keeps ?? true;
};
