import { LlmcError } from "../../base/error.ts";
import { nearest, quoteForMessage } from "../../base/text.ts";
import { compileGlob } from "../../policy/globs.ts";
import { languageNamed } from "../../syntax/languages.ts";
import type { SearchRequest } from "../rank/search-request.ts";
import type { IndexState } from "./index-status.ts";
import type { LoadedFile } from "./loaded-index.ts";

type Files = ReadonlyMap<string, Pick<LoadedFile, "language" | "state">>;

/** Languages that are named in a refusal. */
const MAX_NAMED = 8;

const unknown = (field: string, message: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", message, { hint, details: { field } });

const languagesIn = (files: Files): readonly string[] => {
  const counts = new Map<string, number>();
  for (const { language, state } of files.values())
    if (state === "indexed") counts.set(language, (counts.get(language) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([language]) => language);
};

/** The language as the index calls it: by its name in any case, or by an extension such as `ts`. */
const checkLanguage = (given: string, files: Files): string => {
  const known = languagesIn(files);
  const named = languageNamed(given);
  if (named !== undefined && known.includes(named)) return named;
  // A language that exists is not a misspelling of another one.
  const near = named === undefined ? nearest(given.toLowerCase(), known) : undefined;
  const list = `${known.slice(0, MAX_NAMED).join(", ")}${known.length > MAX_NAMED ? ", …" : ""}`;
  throw unknown(
    "language",
    `No indexed file is in ${quoteForMessage(given)}.`,
    near === undefined ? `Here are: ${list}.` : `Did you mean ${quoteForMessage(near)}?`,
  );
};

/** The glob with its first part corrected, where that is a folder or file of another name. */
const nearestGlob = (glob: string, files: Files): string | undefined => {
  const [first = "", ...rest] = glob.replace(/^\.?\//, "").split("/");
  const tops = new Set([...files.keys()].map((path) => path.split("/")[0] ?? ""));
  if (tops.has(first)) return undefined;
  const near = nearest(first, tops);
  return near === undefined ? undefined : [near, ...rest].join("/");
};

const checkGlobs = (globs: readonly string[], files: Files): void => {
  const matches = globs.map((glob) => compileGlob(glob));
  for (const path of files.keys()) if (matches.some((isMatch) => isMatch(path))) return;
  const [glob = ""] = globs;
  const near = nearestGlob(glob, files);
  throw unknown(
    "path_glob",
    `No indexed file matches ${quoteForMessage(glob)}.`,
    near === undefined
      ? "Paths are relative to the workspace; ** stands for any folders."
      : `Did you mean ${quoteForMessage(near)}?`,
  );
};

/** Refuses filters that nothing can pass. While the index is being built, what they mean may still come. */
export const checkFilters = (request: SearchRequest, files: Files, { state }: IndexState): SearchRequest => {
  if (state === "building" || files.size === 0) return request;
  const { language, pathGlobs } = request;
  if (pathGlobs !== undefined && pathGlobs.length > 0) checkGlobs(pathGlobs, files);
  return language === undefined ? request : { ...request, language: checkLanguage(language, files) };
};
