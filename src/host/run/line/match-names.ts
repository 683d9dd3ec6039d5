import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import { parseName } from "../../../policy/globs.ts";
import {
  type Field,
  globSegments,
  literalOf,
  MAX_FIELDS,
  tooMany,
} from "../../../policy/shell/expand-word.ts";
import type { Access } from "../../reach/access.ts";

const hasPattern = (segment: string): boolean => /(^|[^\\])(\\\\)*[*?[]/.test(segment);

const unescaped = (segment: string): string => segment.replaceAll(/\\(.)/gs, "$1");

/** What cannot be found or is no directory matches nothing; a refusal stays a refusal. */
const orNothing = (thrown: unknown): undefined => {
  if (thrown instanceof LlmcError && (thrown.code === "file_not_found" || thrown.code === "not_a_directory"))
    return undefined;
  throw thrown;
};

const matchesOf = (segment: string): ((name: string) => boolean) => {
  try {
    const matches = parseName(segment, segment);
    // As in a shell, hidden names are matched only by a pattern that begins with a dot.
    return (name) => (name.startsWith(".") ? segment.startsWith(".") && matches(name) : matches(name));
  } catch {
    return (name) => name === unescaped(segment);
  }
};

interface Search {
  readonly access: Access;
  readonly cwd: string;
  readonly signal: AbortSignal | undefined;
}

const namesIn = async (
  { access, cwd, signal }: Search,
  folder: string,
  segment: string,
): Promise<string[]> => {
  const matches = matchesOf(segment);
  const path = posix.resolve(cwd, folder === "" ? "." : folder);
  const entries = await access(path, signal, (located) =>
    located.stats.isDirectory() ? located.list() : [],
  ).catch(orNothing);
  return (entries ?? []).map(({ name }) => name).filter(matches);
};

const exists = async ({ access, cwd, signal }: Search, path: string): Promise<boolean> => {
  const isFolderWanted = path.endsWith("/");
  const found = await access(
    posix.resolve(cwd, path),
    signal,
    ({ stats }) => !isFolderWanted || stats.isDirectory(),
  ).catch(orNothing);
  return found === true;
};

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const search = async (how: Search, segments: readonly string[]): Promise<readonly string[]> => {
  let paths: readonly string[] = [""];
  for (const [at, segment] of segments.entries()) {
    const next: string[] = [];
    for (const path of paths) {
      const prefix = at === 0 ? "" : `${path}/`;
      const names = hasPattern(segment) ? await namesIn(how, prefix, segment) : [unescaped(segment)];
      for (const name of names) next.push(`${prefix}${name}`);
      if (next.length > MAX_FIELDS) throw tooMany();
    }
    paths = next;
  }
  const found: string[] = [];
  for (const path of paths) if (await exists(how, path)) found.push(path);
  return found.sort(byCodeUnits);
};

/**
 * The arguments that a field stands for: the names that it matches, as far as the caller may see them, or itself where
 * it has no pattern or nothing matches. A name must not be taken for an option.
 */
export const matchNames = async (
  field: Field,
  access: Access,
  cwd: string,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> => {
  const segments = globSegments(field);
  const found = segments === undefined ? [] : await search({ access, cwd, signal }, segments);
  if (found.length === 0) return [literalOf(field)];
  return found.map((path) => (path.startsWith("-") ? `./${path}` : path));
};
