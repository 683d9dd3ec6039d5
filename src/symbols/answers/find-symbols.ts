import type { Definition } from "../extract/file-symbols.ts";
import type { FileRecord } from "../project/family.ts";
import { folderOf, nameOf } from "../project/paths.ts";
import { fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { isTestFile } from "../project/test-files.ts";
import type { SymbolAt } from "./answers.ts";

export const describe = (table: Table, id: SymbolId): SymbolAt | undefined => {
  const file = table.file(fileOf(id));
  const definition = table.definition(id);
  if (file === undefined || definition === undefined) return undefined;
  const { name, qualified, kind, line, startLine, endLine, exported } = definition;
  return { name, qualified, kind, path: file.path, line, startLine, endLine, exported };
};

const KIND_ORDER = "class interface function method type enum module macro constant variable field".split(
  " ",
);

/** Of a qualified name, from its end: more do not tell definitions apart. */
const MAX_PARTS = 8;
/** Definitions that are ordered: the project decides how many have one name, and a report how often it is asked for. */
const MAX_CANDIDATES = 5000;

/** The likeliest meaning first: exported before private, code before tests, large kinds before small ones. */
const rank = (table: Table, symbols: readonly SymbolId[]): readonly SymbolId[] => {
  const keys = symbols.slice(0, MAX_CANDIDATES).flatMap((id) => {
    const at = describe(table, id);
    const file = table.file(fileOf(id));
    if (at === undefined || file === undefined) return [];
    const depth = at.qualified.split(".").length;
    const weight =
      (isTestFile(file) ? 100 : 0) + (at.exported ? 0 : 10) + depth * 3 + KIND_ORDER.indexOf(at.kind);
    return [{ id, weight, at }];
  });
  keys.sort(
    (a, b) =>
      a.weight - b.weight || (a.at.path < b.at.path ? -1 : a.at.path > b.at.path ? 1 : a.at.line - b.at.line),
  );
  return keys.map(({ id }) => id);
};

/** The definition whose name is on the line, or else the innermost one that spans it. */
const atLine = (file: FileRecord, line: number): SymbolId | undefined => {
  let best: { index: number; definition: Definition } | undefined;
  for (const [index, definition] of file.definitions.entries()) {
    if (definition.kind === "alias" || definition.startLine > line || definition.endLine < line) continue;
    if (best?.definition.line === line && definition.line !== line) continue;
    const isCloser =
      best === undefined ||
      (definition.line === line && best.definition.line !== line) ||
      definition.endLine - definition.startLine < best.definition.endLine - best.definition.startLine;
    if (isCloser) best = { index, definition };
  }
  return best === undefined ? undefined : symbolId(file.id, best.index);
};

/** `a/b.py:12`, `a/b.py#L12`, `a/b.py#L12-L30`, `a/b.py:Store.open` */
const PATH_AND_LINE = /^(.+?)(?:#L|:)(\d+)(?:[-:].*)?$/;
const NAME_IN_FILE = /^(.+\.\w+)(?:#|::?)([\p{L}_$][\p{L}\p{N}_$.]*)$/u;

/** Definitions that a query may mean: a name, a qualified name in the spelling of any language, `path:line` or `path:name`. */
export const findSymbols = (table: Table, query: string): readonly SymbolId[] => {
  const text = query.trim().replace(/^\.\//, "").replace(/\(\)$/, "");
  const located = PATH_AND_LINE.exec(text);
  if (located !== null) {
    const file = table.byPath(located[1] ?? "");
    const found = file === undefined ? undefined : atLine(file, Number(located[2]));
    return found === undefined ? [] : [found];
  }
  const inFile = NAME_IN_FILE.exec(text);
  const file = inFile === null ? undefined : table.byPath(inFile[1] ?? "");
  if (inFile !== null && file !== undefined) {
    const wanted = inFile[2] ?? "";
    return rank(
      table,
      file.definitions.flatMap(({ name, qualified, kind }, index) =>
        kind !== "alias" && (qualified === wanted || name === wanted) ? [symbolId(file.id, index)] : [],
      ),
    );
  }
  // `Reply.prototype.send` is what JavaScript calls `Reply.send`.
  const parts = text
    .replace(/\.prototype\./g, ".")
    .split(/\.|::|#|\\|->/)
    .filter(Boolean)
    .slice(-MAX_PARTS);
  const last = parts.at(-1);
  if (last === undefined) return [];
  const named = table.named.get(last);
  if (parts.length === 1) return rank(table, named);
  // Whatever fits has the last two parts; all others are looked at once, however many parts there are.
  const nearest = `.${parts.slice(-2).join(".")}`;
  const near = named.filter((id) => `.${table.definition(id)?.qualified ?? ""}`.endsWith(nearest));
  // The longest suffix that fits decides: the parts before it may name a package or a module.
  for (let from = 0; from < parts.length - 1; from++) {
    const wanted = `.${parts.slice(from).join(".")}`;
    const isIn = isUnder(table, parts.slice(0, from));
    const fits = near.filter(
      (id) => `.${table.definition(id)?.qualified ?? ""}`.endsWith(wanted) && (from === 0 || isIn(id)),
    );
    if (fits.length > 0) return rank(table, fits);
  }
  const inModule = named.filter(isUnder(table, parts.slice(0, -1)));
  // `App.Store` of a language whose modules are named in full where they are defined.
  const isModule = (id: SymbolId): boolean => /^(?:module|class)$/.test(table.definition(id)?.kind ?? "");
  return rank(table, inModule.length > 0 ? inModule : named.filter(isModule));
};

/** Whether a symbol's file is the module that these parts name; each file is looked at once. */
const isUnder = (table: Table, parts: readonly string[]): ((id: SymbolId) => boolean) => {
  const known = new Map<number, boolean>();
  return (id) => {
    const fileId = fileOf(id);
    const isNamed = known.get(fileId) ?? isNamedBy(table.file(fileId), parts);
    known.set(fileId, isNamed);
    return isNamed;
  };
};

const isNamedBy = (file: FileRecord | undefined, parts: readonly string[]): boolean => {
  if (file === undefined) return false;
  if (
    file.module !== "" &&
    file.module
      .split(/[.\\/]|::/)
      .slice(-parts.length)
      .join(".") === parts.join(".")
  )
    return true;
  const stem = file.path.replace(/\.\w+$/, "");
  const path = file.family.folderModules?.includes(nameOf(stem)) === true ? folderOf(stem) : stem;
  return `/${path}/`.includes(`/${parts.join("/")}/`);
};
