import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { headingText } from "./section-list.ts";

export interface FrontMatter {
  /** How many lines of the document it takes. */
  readonly lines: number;
  readonly title: string | undefined;
  readonly licence: string | undefined;
  readonly version: string | undefined;
  readonly warnings: readonly string[];
}

const NOTHING: FrontMatter = {
  lines: 0,
  title: undefined,
  licence: undefined,
  version: undefined,
  warnings: [],
};

const MAX_LINES = 500;
const MAX_CHARS = 64 * 1024;
/** Aliases of YAML multiply: a few lines may stand for gigabytes. */
const MAX_ALIASES = 20;

const fieldOf = (values: unknown, names: readonly string[]): string | undefined => {
  if (typeof values !== "object" || values === null) return undefined;
  for (const [key, value] of Object.entries(values)) {
    if (!names.includes(key.toLowerCase())) continue;
    if (typeof value === "string" || typeof value === "number")
      return headingText(String(value)) || undefined;
  }
  return undefined;
};

const parseFields = (mark: string, source: string): unknown =>
  mark === "---" ? parseYaml(source, { maxAliasCount: MAX_ALIASES, logLevel: "error" }) : parseToml(source);

/** The block of YAML (`---`) or TOML (`+++`) that a document may begin with. */
export const readFrontMatter = (lines: readonly string[]): FrontMatter => {
  const mark = lines[0]?.trimEnd();
  if (mark !== "---" && mark !== "+++") return NOTHING;
  const end = lines.slice(1, MAX_LINES).findIndex((line) => line.trimEnd() === mark) + 1;
  if (end === 0) return NOTHING;
  const source = lines.slice(1, end).join("\n");
  // A document may begin with a horizontal rule.
  if (mark === "---" && !/^\s*["'\w-]+\s*:/m.test(source)) return NOTHING;
  if (source.length > MAX_CHARS)
    return { ...NOTHING, lines: end + 1, warnings: ["The front matter is too long."] };
  try {
    const values = parseFields(mark, source);
    return {
      lines: end + 1,
      title: fieldOf(values, ["title", "name"]),
      licence: fieldOf(values, ["license", "licence", "spdx-license-identifier"]),
      version: fieldOf(values, ["version"]),
      warnings: [],
    };
  } catch {
    return { ...NOTHING, lines: end + 1, warnings: ["The front matter could not be read."] };
  }
};
