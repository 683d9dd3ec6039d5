import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { REPOSITORY, readFromRoot } from "./context.ts";
import { copyOf, pairsOf, parseDockerfile, type Stage } from "./dockerfile.ts";

export const stages: readonly Stage[] = parseDockerfile(readFromRoot("deploy/Dockerfile"));

const last = stages.at(-1);
if (last === undefined) throw new Error("the Dockerfile has no stage");
export const runtime: Stage = last;

export const instructionOf = (stage: Stage, name: string): string => {
  const found = stage.instructions.filter((one) => one.name === name);
  if (found.length !== 1) throw new Error(`${found.length} instructions ${name}`);
  return found[0]?.text ?? "";
};

export const imageEnv: ReadonlyMap<string, string> = pairsOf(instructionOf(runtime, "ENV"));

/** Paths of the image that a COPY fills, with the path in the repository that they come from (or `STAGE:PATH`). */
export const imagePaths: ReadonlyMap<string, string> = new Map(
  runtime.instructions
    .filter(({ name }) => name === "COPY")
    .flatMap((one) => {
      const { from, sources, target } = copyOf(one);
      const intoFolder = target.endsWith("/") || sources.length > 1;
      return sources.map((source) => {
        const isFile = from === undefined && statSync(join(REPOSITORY, source)).isFile();
        const inImage = isFile && intoFolder ? join(target, basename(source)) : resolve("/", target);
        return [inImage, from === undefined ? source : `${from}:${source}`] as const;
      });
    }),
);

/** The file of the repository behind a path in the image; undefined: the image has no such file of ours. */
export const sourceOf = (path: string): string | undefined => {
  for (const [inImage, source] of imagePaths) {
    if (inImage === path) return source;
    if (path.startsWith(`${inImage}/`)) return join(source, path.slice(inImage.length + 1));
  }
  return undefined;
};

/** Names of environment variables that the program takes: one for each key, and those of the launchers and the wiring. */
export const OTHER_VARIABLES = ["LLMC_ROOT", "LLMC_CONFIG", "LLMC_MCP_TOKEN"];
