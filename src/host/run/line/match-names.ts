import { setImmediate as yieldToOthers } from "node:timers/promises";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { parseName } from "../../../policy/globs.ts";
import { isState, TEMP_NAME } from "../../../policy/paths.ts";
import { type Field, globSegments, hasPattern, literalOf } from "../../../policy/shell/expand-word.ts";
import type { Expansion } from "./contract.ts";
import { isAbsent, physicalPath } from "./physical-path.ts";

const unescaped = (segment: string): string => segment.replaceAll(/\\(.)/gs, "$1");

/** What cannot be found or is no directory matches nothing; a refusal stays a refusal. */
const orNothing = (thrown: unknown): undefined => {
  if (!isAbsent(thrown)) throw thrown;
  return undefined;
};

/** Names have at most 255 bytes; comparing one with a pattern takes time by the product of both lengths. */
const MAX_SEGMENT = 1024;

const matchesOf = (segment: string): ((name: string) => boolean) => {
  if (segment.length > MAX_SEGMENT)
    throw new LlmcError("invalid_args", `A pattern for a name is longer than ${MAX_SEGMENT} characters.`, {
      details: { field: "command" },
    });
  try {
    const matches = parseName(segment, segment);
    // As in a shell, hidden names are matched only by a pattern that begins with a dot.
    return (name) => (name.startsWith(".") ? segment.startsWith(".") && matches(name) : matches(name));
  } catch {
    return (name) => name === unescaped(segment);
  }
};

/** Between two looks at the clock, and at what else the server has to do. */
const NAMES_AT_ONCE = 200;

interface Search extends Expansion {
  readonly cwd: string;
}

/** Without it, files that are found at once would let no timer fire, the line's own among them. */
const takeTurn = async (signal: AbortSignal | undefined): Promise<void> => {
  await yieldToOthers();
  stopIfAborted(signal);
};

/** Names that a folder holds and a segment matches; where more segments follow, only what may hold something. */
const namesIn = async (
  { access, cwd, signal }: Search,
  folder: string,
  segment: string,
  isLast: boolean,
): Promise<readonly string[]> => {
  const matches = matchesOf(segment);
  await takeTurn(signal);
  const path = await physicalPath(access, cwd, folder === "" ? "." : folder, signal).catch(orNothing);
  if (path === undefined) return [];
  const entries =
    (await access(path, signal, (located) => (located.stats.isDirectory() ? located.list() : [])).catch(
      orNothing,
    )) ?? [];
  const names: string[] = [];
  for (const [at, entry] of entries.entries()) {
    if (at % NAMES_AT_ONCE === NAMES_AT_ONCE - 1) await takeTurn(signal);
    const { name } = entry;
    const isMeant = isLast || entry.isDirectory() || entry.isSymbolicLink();
    // The server's own files are closed to everybody, so `.*` does not mean them.
    if (isMeant && !isState(name) && !TEMP_NAME.test(name) && matches(name)) names.push(name);
  }
  return names;
};

const exists = async ({ access, cwd, signal }: Search, path: string): Promise<boolean> => {
  await takeTurn(signal);
  const isFolderWanted = path.endsWith("/");
  const check = async (): Promise<boolean> =>
    access(
      await physicalPath(access, cwd, path, signal),
      signal,
      ({ stats }) => !isFolderWanted || stats.isDirectory(),
    );
  return (await check().catch(orNothing)) === true;
};

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const search = async (how: Search, segments: readonly string[]): Promise<readonly string[]> => {
  let paths: readonly string[] = [""];
  for (const [at, segment] of segments.entries()) {
    const isLast = at === segments.length - 1;
    const next: string[] = [];
    for (const path of paths) {
      const prefix = at === 0 ? "" : `${path}/`;
      const names = hasPattern(segment) ? await namesIn(how, prefix, segment, isLast) : [unescaped(segment)];
      for (const name of names) {
        how.budget.spend(prefix.length + name.length);
        next.push(`${prefix}${name}`);
      }
    }
    paths = next;
  }
  // A folder that lists a name holds it, whatever it is: a pipe, or a link that leads nowhere.
  if (hasPattern(segments.at(-1) ?? "")) return paths.toSorted(byCodeUnits);
  const found: string[] = [];
  for (const path of paths) if (await exists(how, path)) found.push(path);
  return found.sort(byCodeUnits);
};

/**
 * The arguments that a field stands for: the names that it matches, or itself where it has no pattern or nothing matches.
 * A name must not be taken for an option.
 */
export const matchNames = async (
  field: Field,
  cwd: string,
  expansion: Expansion,
): Promise<readonly string[]> => {
  const segments = globSegments(field);
  const found = segments === undefined ? [] : await search({ ...expansion, cwd }, segments);
  if (found.length === 0) return [literalOf(field)];
  return found.map((path) => (path.startsWith("-") ? `./${path}` : path));
};
