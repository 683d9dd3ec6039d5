import { parse, TomlError } from "smol-toml";

/** Parts of a dotted key, and lists and tables within each other. What parsers do grows with the square of both. */
const MAX_PARTS = 16;
const MAX_NESTING = 16;

export class CostlyTomlError extends TomlError {
  readonly reason: string;

  constructor(reason: string, toml: string, ptr: number) {
    super(reason, { toml, ptr });
    this.reason = reason;
  }
}

const STRINGS = [
  /"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*(?:"{3,5})?/,
  /'''[^']*(?:'(?!'')[^']*)*(?:'{3,5})?/,
  /"[^"\\\n]*(?:\\.[^"\\\n]*)*"?/,
  /'[^'\n]*'?/,
];

/** Strings and comments, in which nothing counts, and the marks that begin or end a key or a value. */
const TOKEN = new RegExp([...STRINGS, /#[^\n]*/, /[\n=,.[\]{}]/].map(({ source }) => source).join("|"), "g");

/** A file of a workspace may be anybody's: what would take a parser gigabytes is refused before it is parsed. */
export const refuseCostly = (text: string): void => {
  let dots = 0;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.length > 1) continue;
    dots = token === "." ? dots + 1 : 0;
    if (dots >= MAX_PARTS) throw new CostlyTomlError(`a key has more than ${MAX_PARTS} parts`, text, index);
    if (token === "[" || token === "{") depth++;
    if (token === "]" || token === "}") depth--;
    if (depth > MAX_NESTING)
      throw new CostlyTomlError(`lists or tables are nested more than ${MAX_NESTING} deep`, text, index);
  }
};

/** The values of a TOML text. Every text is read through this, or through `parseTree`. */
export const parseToml = (
  text: string,
  options: { readonly integersAsBigInt?: boolean | "asNeeded" } = {},
): ReturnType<typeof parse> => {
  refuseCostly(text);
  return parse(text, options);
};
