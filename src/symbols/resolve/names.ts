import type { Import } from "../extract/file-symbols.ts";
import type { ConfigFiles } from "../project/config-files.ts";
import { type FileRecord, moduleKey } from "../project/family.ts";
import { inOrder, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { createModules, type Modules } from "./modules.ts";

/** What a name can mean: a definition, the files of a module, or something that is not of this project. */
export type Named = NamedSymbol | NamedModule;

interface NamedSymbol {
  readonly kind: "symbol";
  readonly id: SymbolId;
}

interface NamedModule {
  readonly kind: "module";
  readonly files: readonly number[];
  readonly source: string;
}

/** Chains of re-exports and of packages are short; cycles end here. */
const MAX_HOPS = 16;
/** Meanings that are cached: some tens of megabytes. */
const MAX_KNOWN = 200_000;

const NOTHING: readonly Named[] = [];

type Meaning = readonly Named[] | "foreign";

/** Members of the value of a symbol. */
export type MembersOf = (symbol: SymbolId, name: string) => readonly SymbolId[];

interface State {
  readonly table: Table;
  readonly modules: Modules;
  readonly membersOf: MembersOf;
  /** Meanings by file and name, of one generation of the table. */
  readonly known: Map<string, Meaning>;
  generation: number;
}

const symbolsIn = (file: FileRecord, name: string): readonly NamedSymbol[] =>
  (shapeOf(file).top.get(name) ?? []).map((index) => ({ kind: "symbol", id: symbolId(file.id, index) }));

const imported = (state: State, file: FileRecord, entry: Import, hops = MAX_HOPS): Meaning => {
  if (hops <= 0) return NOTHING;
  if (entry.source === "") {
    const own = symbolsIn(file, entry.name);
    return own.length > 0 ? own : lookupImport(state, file, entry.name, hops - 1);
  }
  const files = state.modules.files(file, entry.source);
  if (entry.name === "" || entry.name === "*") {
    if (files.length === 0)
      return state.modules.isOurs(file, entry.source)
        ? [{ kind: "module", files, source: entry.source }]
        : "foreign";
    const { wholeModule } = file.family;
    const whole = wholeModule === undefined ? NOTHING : exported(state, files, wholeModule, hops - 1);
    return whole.length > 0 ? whole : [{ kind: "module", files, source: entry.source }];
  }
  const found = exported(state, files, entry.name, hops - 1);
  if (found.length > 0) return found;
  if (entry.name === "default" && file.family.wholeModule !== undefined) {
    const whole = exported(state, files, file.family.wholeModule, hops - 1);
    if (whole.length > 0) return whole;
  }
  const held = memberOfWhole(state, files, entry.name, file.family.wholeModule, hops - 1);
  if (held.length > 0) return held;
  const members = memberOfSource(state, file, entry, hops);
  if (members.length > 0) return members;
  const inner = state.modules.inner(file, entry.source, entry.name);
  if (inner.length > 0) return [{ kind: "module", files: inner, source: `${entry.source}.${entry.name}` }];
  return files.length === 0 && !state.modules.isOurs(file, entry.source) ? "foreign" : NOTHING;
};

/** `const { open } = require("./store")`, where that file has `module.exports = store`. */
const memberOfWhole = (
  state: State,
  files: readonly number[],
  name: string,
  wholeModule: string | undefined,
  hops: number,
): readonly Named[] => {
  if (wholeModule === undefined || name === wholeModule) return NOTHING;
  return exported(state, files, wholeModule, hops).flatMap((whole) =>
    whole.kind === "module"
      ? exported(state, whole.files, name, hops - 1)
      : state.membersOf(whole.id, name).map((id) => ({ kind: "symbol" as const, id })),
  );
};

const lookupImport = (state: State, file: FileRecord, name: string, hops: number): Meaning => {
  let foreign = false;
  for (const entry of file.imports) {
    if (entry.local !== name || entry.source === "") continue;
    if (entry.exported && file.family.reexportsBindNothing === true) continue;
    const found = imported(state, file, entry, hops);
    if (found === "foreign") foreign = true;
    else if (found.length > 0) return found;
  }
  if (foreign) return "foreign";
  for (const entry of file.imports) {
    if (entry.local !== "*" || entry.exported) continue;
    const found = exported(state, state.modules.files(file, entry.source), name, hops - 1);
    if (found.length > 0) return found;
  }
  return NOTHING;
};

/** What one file of a module offers under a name: a definition of its own, or what it imports. */
const offeredBy = (state: State, file: FileRecord, name: string, hops: number): readonly Named[] => {
  const { hidesUnexported, hidesImports, hidesWildcards } = file.family;
  const own = symbolsIn(file, name).filter(
    ({ id }) => hidesUnexported !== true || state.table.definition(id)?.exported === true,
  );
  if (own.length > 0) return own;
  for (const entry of file.imports) {
    if (hidesImports === true && !entry.exported) continue;
    let found: Meaning = NOTHING;
    if (entry.local === name) found = imported(state, file, entry, hops - 1);
    else if (entry.local === "*" && hidesWildcards !== true)
      found = exported(state, state.modules.files(file, entry.source), name, hops - 1);
    if (found !== "foreign" && found.length > 0) return found;
  }
  return NOTHING;
};

const exported = (state: State, files: readonly number[], name: string, hops = MAX_HOPS): readonly Named[] =>
  hops <= 0 || files.length === 0
    ? NOTHING
    : inOrder(state.table, files).flatMap((file) => offeredBy(state, file, name, hops));

/** `import static a.b.Store.open`, `import a.b.Store.Entry`: the source is a class, the name a member of it. */
const memberOfSource = (state: State, file: FileRecord, entry: Import, hops: number): readonly Named[] => {
  const cut = Math.max(
    entry.source.lastIndexOf("."),
    entry.source.lastIndexOf("\\"),
    entry.source.lastIndexOf("::") + 1,
  );
  if (cut <= 0) return NOTHING;
  const source = entry.source.slice(0, cut).replace(/:+$/, "");
  const owners = imported(state, file, { ...entry, source, name: entry.source.slice(cut + 1) }, hops - 1);
  if (owners === "foreign") return NOTHING;
  return owners.flatMap((owner) => {
    const holder = owner.kind === "symbol" ? state.table.file(fileOf(owner.id)) : undefined;
    if (holder === undefined || owner.kind !== "symbol") return [];
    const members = shapeOf(holder).members.get(definitionOf(owner.id))?.get(entry.name) ?? [];
    return members.map((index) => ({ kind: "symbol" as const, id: symbolId(holder.id, index) }));
  });
};

const besideWhole = (state: State, symbol: SymbolId, name: string): readonly Named[] => {
  const file = state.table.file(fileOf(symbol));
  const wholeModule = file?.family.wholeModule;
  if (file === undefined || wholeModule === undefined) return NOTHING;
  const definition = state.table.definition(symbol);
  const isWhole = file.imports.some(
    (entry) => entry.local === wholeModule && entry.source === "" && entry.name === definition?.name,
  );
  return isWhole && definition?.parent === -1 ? exported(state, [file.id], name) : NOTHING;
};

/** `except ImportError: def name()`: the project's own replacement, unless the import is inside of that definition. */
const importFallbacks = (state: State, file: FileRecord, name: string): Meaning => {
  if (file.family.hasImportFallbacks !== true) return "foreign";
  const lines = file.imports.flatMap((entry) => (entry.local === name ? [entry.line] : []));
  const own = symbolsIn(file, name).filter(({ id }) => {
    const { startLine = 0, endLine = 0 } = state.table.definition(id) ?? {};
    return !lines.some((line) => line >= startLine && line <= endLine);
  });
  return own.length > 0 ? own : "foreign";
};

/** Without an import: what is defined in the same folder or package. */
const nearby = (state: State, file: FileRecord, name: string): readonly Named[] => {
  const { reach } = file.family;
  const files =
    reach === "folder"
      ? state.table.inFolder.get(file.folder)
      : reach === "package"
        ? state.table.inModule.get(moduleKey(file.family, file.module))
        : [];
  return inOrder(state.table, files).flatMap((other) =>
    other.family === file.family ? symbolsIn(other, name) : [],
  );
};

const findMeaning = (state: State, file: FileRecord, name: string): Meaning => {
  const imports = lookupImport(state, file, name, MAX_HOPS);
  const found = imports === "foreign" ? importFallbacks(state, file, name) : imports;
  if (found.length > 0) return found;
  const own = symbolsIn(file, name);
  return own.length > 0 ? own : nearby(state, file, name);
};

const lookup = (state: State, file: FileRecord, name: string): Meaning => {
  const { known, table } = state;
  if (state.generation !== table.generation || known.size > MAX_KNOWN) known.clear();
  state.generation = table.generation;
  const key = `${file.id} ${name}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  // Cyclic wildcard imports ask for the same name again; until it is known, the answer is nothing.
  known.set(key, NOTHING);
  const found = findMeaning(state, file, name);
  known.set(key, found);
  return found;
};

export const createNames = (table: Table, config: ConfigFiles, membersOf: MembersOf) => {
  const modules = createModules(table, config);
  const state: State = { table, modules, membersOf, known: new Map(), generation: -1 };
  return {
    filesOf: state.modules.files,
    /** What a module exports beside the one value that this symbol is: `module.exports = fastify; module.exports.codes = …`. */
    besideWhole: (symbol: SymbolId, name: string): readonly Named[] => besideWhole(state, symbol, name),
    /** What a module offers under a name. */
    exported: (files: readonly number[], name: string): readonly Named[] => exported(state, files, name),
    imported: (file: FileRecord, entry: Import): readonly Named[] | "foreign" => imported(state, file, entry),
    /** Empty where nothing is known; "foreign" for what is known to be outside of the project. */
    lookup: (file: FileRecord, name: string): readonly Named[] | "foreign" => lookup(state, file, name),
  };
};

export type Names = ReturnType<typeof createNames>;
