import { TomlError } from "smol-toml";
import { isRecord } from "../base/is-record.ts";
import { checkValue, typeName } from "./check-value.ts";
import { type Layer, MAX_SHOWN } from "./layer.ts";
import { parseToml } from "./parse-toml.ts";
import { removalReason } from "./removed-keys.ts";
import { ENTRIES, type Entry, TABLES } from "./sections.ts";
import { unknownName, unknownPath } from "./suggest.ts";
import type { TomlPath } from "./toml-tree.ts";

/** The line of a key, a table or a list item; undefined if it is not known. */
type LineOf = (path: TomlPath) => number | undefined;

/** Where a part of a path is mentioned first, and the parts below it. */
interface Mention {
  line: number | undefined;
  readonly below: Map<string | number, Mention>;
}

/** Of larger files no lines are named: the second parser takes milliseconds for every kilobyte. */
const MAX_LOCATED_CHARS = 256 * 1024;

/** Loaded only here: a start without origins or errors does not pay for the second parser. */
const locateLines = async (text: string): Promise<LineOf> => {
  const { pairsOf, parseTree, withInlinePairs } = await import("./toml-tree.ts");
  const top: Mention = { line: undefined, below: new Map() };

  // The first mention counts, also for the tables that a longer path implies.
  const note = (path: TomlPath, line: number): void => {
    let at = top;
    for (const part of path) {
      const mention = at.below.get(part) ?? { line, below: new Map() };
      mention.line = Math.min(line, mention.line ?? line);
      at.below.set(part, mention);
      at = mention;
    }
  };

  try {
    const tree = parseTree(text);
    for (const node of tree.body)
      if (node.type === "TOMLTable") note(node.resolvedKey, node.key.loc.start.line);
    for (const { path, pair } of pairsOf(tree).flatMap(withInlinePairs)) {
      note(path, pair.key.loc.start.line);
      if (pair.value.type === "TOMLArray")
        for (const [index, element] of pair.value.elements.entries())
          note([...path, index], element.loc.start.line);
    }
  } catch {
    // The values are read by the other parser; where the two differ, a message without a line beats no message.
  }
  return (path) => path.reduce<Mention | undefined>((at, part) => at?.below.get(part), top)?.line;
};

export interface FileLayer extends Layer {
  /** Not valid TOML, so nothing is known about its content. */
  readonly broken: boolean;
  /** What is passed over: keys of earlier versions that never did anything. */
  readonly remarks: readonly string[];
}

interface Complaint {
  readonly path: TomlPath;
  readonly text: string;
  /** With what was meant, which takes a millisecond to find. */
  readonly explained?: () => string;
}

interface Findings {
  readonly values: { readonly entry: Entry; readonly value: unknown }[];
  readonly complaints: Complaint[];
  /** Keys of earlier versions that never had an effect. */
  readonly remarks: Complaint[];
}

/** All tables and the tables above them. */
const KNOWN_TABLES: ReadonlySet<string> = new Set(
  TABLES.flatMap(({ path }) => path.split(".").map((_, at, parts) => parts.slice(0, at + 1).join("."))),
);

const isTable = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && !(value instanceof Date);

const showPath = (path: readonly string[]): string =>
  path.map((part) => (/^[\w-]+$/.test(part) ? part : `'${part}'`)).join(".");

const takeValue = (findings: Findings, path: readonly string[], entry: Entry, raw: unknown): void => {
  const checked = checkValue(entry.option, raw);
  if ("value" in checked) findings.values.push({ entry, value: checked.value });
  else {
    const at = checked.item === undefined ? path : [...path, checked.item];
    findings.complaints.push({ path: at, text: `${entry.key}: ${checked.complaint}` });
  }
};

const walk = (findings: Findings, above: readonly string[], table: Record<string, unknown>): void => {
  for (const [name, raw] of Object.entries(table)) {
    const path = [...above, name];
    const key = path.join(".");
    // A quoted key may contain dots and is then not one of our key paths.
    const entry = name.includes(".") ? undefined : ENTRIES.get(key);
    if (entry !== undefined) takeValue(findings, path, entry, raw);
    else if (!name.includes(".") && KNOWN_TABLES.has(key)) {
      if (isTable(raw)) walk(findings, path, raw);
      else findings.complaints.push({ path, text: `${key}: expected a table, got ${typeName(raw)}` });
    } else if (removalReason(key) !== undefined) {
      findings.remarks.push({ path, text: unknownPath(isTable(raw) ? "table" : "key", key, showPath(path)) });
    } else {
      const what = isTable(raw) ? "table" : "key";
      const shown = showPath(path);
      findings.complaints.push({
        path,
        text: unknownName(what, shown, undefined),
        explained: () => unknownPath(what, key, shown),
      });
    }
  }
};

/** The parser reads on to the end of the line, and complains about that. */
const isOpenTable = (source: string, line: number): boolean =>
  /^\s*\[[^\]#"']*$/.test(source.split("\n", line)[line - 1]?.replace(/\r$/, "") ?? "");

const syntaxProblem = (name: string, source: string, error: TomlError): string => {
  if (isOpenTable(source, error.line))
    return `${name}:${error.line}:${error.column}: the name of a table is not closed by ]`;
  // What follows the first line quotes the file, which a message must not.
  const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "not TOML";
  return `${name}:${error.line}:${error.column}: ${reason}`;
};

/** Reads and checks a file's text. `lines` asks for the line of every value; a problem always has its line. */
export const readToml = async (
  text: string,
  name: string,
  lines: boolean,
  from: "file" | "user" = "file",
): Promise<FileLayer> => {
  const source = text.replace(/^\uFEFF/, "");
  const findings: Findings = { values: [], complaints: [], remarks: [] };
  try {
    walk(findings, [], parseToml(source, { integersAsBigInt: true }));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { settings: new Map(), problems: [syntaxProblem(name, source, error)], broken: true, remarks: [] };
  }
  const isWanted =
    findings.complaints.length + findings.remarks.length > 0 || (lines && findings.values.length > 0);
  const lineOf = isWanted && source.length <= MAX_LOCATED_CHARS ? await locateLines(source) : () => undefined;
  const located = (complaints: readonly Complaint[]): readonly string[] =>
    complaints
      .map((complaint) => ({ line: lineOf(complaint.path), ...complaint }))
      .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
      .map(({ line, text: complaint, explained }, at) => {
        const message = at < MAX_SHOWN ? (explained?.() ?? complaint) : complaint;
        return `${whereIs(line)}: ${message}`;
      });
  const whereIs = (line: number | undefined): string => (line === undefined ? name : `${name}:${line}`);
  return {
    settings: new Map(
      findings.values.map(({ entry: { key }, value }) => [
        key,
        { value, origin: { source: from, detail: whereIs(lineOf(key.split("."))) } },
      ]),
    ),
    problems: located(findings.complaints),
    remarks: located(findings.remarks),
    broken: false,
  };
};
