import { parse } from "smol-toml";

type Value = string | number | boolean;

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const tableAt = (root: unknown, path: string): Readonly<Record<string, unknown>> | undefined => {
  let at: unknown = root;
  for (const name of path.split(".")) {
    if (at === undefined) return {};
    if (!isTable(at)) return undefined;
    at = at[name];
  }
  return at === undefined ? {} : isTable(at) ? at : undefined;
};

const isPlain = (value: unknown, like: Value | undefined): value is Value =>
  typeof value === typeof like && (typeof value !== "number" || (Number.isSafeInteger(value) && value >= 0));

/**
 * A few tables of a configuration file, for a program that ends before the whole could be checked. Only what is
 * plainly right is taken: a key without a default here, a value of another type, or text that is no TOML gives undefined, and
 * the real loader then says what is wrong.
 */
export const glanceAt = <T extends Readonly<Record<string, Readonly<Record<string, Value>>>>>(
  text: string,
  defaults: T,
): { readonly [P in keyof T]: Readonly<Record<keyof T[P], Value>> } | undefined => {
  let root: unknown;
  try {
    root = parse(text);
  } catch {
    return undefined;
  }
  const found: Record<string, Readonly<Record<string, Value>>> = {};
  for (const [path, known] of Object.entries(defaults)) {
    const table = tableAt(root, path);
    if (table === undefined) return undefined;
    const values: Record<string, Value> = { ...known };
    for (const [name, value] of Object.entries(table)) {
      if (!Object.hasOwn(known, name) || !isPlain(value, known[name])) return undefined;
      values[name] = value;
    }
    found[path] = values;
  }
  return found as { readonly [P in keyof T]: Readonly<Record<keyof T[P], Value>> };
};
