import type { Definition, FileSymbols } from "../extract/file-symbols.ts";
import { type Buckets, type Family, type FileRecord, moduleKey, type ProjectFiles } from "./family.ts";
import { folderOf, nameOf } from "./paths.ts";
import { createReferences, type ReferenceRow } from "./references.ts";

/** A definition of the project: file and index in one number. */
export type SymbolId = number;

/** More definitions than a file can have. */
const SYMBOLS_PER_FILE = 131_072;

export const symbolId = (file: number, definition: number): SymbolId => file * SYMBOLS_PER_FILE + definition;
export const fileOf = (symbol: SymbolId): number => Math.floor(symbol / SYMBOLS_PER_FILE);
export const definitionOf = (symbol: SymbolId): number => symbol % SYMBOLS_PER_FILE;

/** All files of a project, kept current as they come and go. */
export interface Table extends ProjectFiles {
  readonly files: ReadonlyMap<number, FileRecord>;
  definition(symbol: SymbolId): Definition | undefined;
  /** Symbols by plain name. */
  readonly named: Buckets;
  /** Symbols that are defined outside of their owner (`func (s *Store) Open`), by `Store.Open`. */
  readonly attached: Buckets;
  /** Properties that hold what something else defines, by their own name. */
  readonly holding: Buckets;
  /** Those that hold something of another name (`{ open: openStore }`), by that name. */
  readonly renaming: Buckets;
  /** Files by a name that they refer to or import. */
  readonly mentioning: Buckets;
  reference(file: FileRecord, at: number): ReferenceRow;
  /** Number of a name in `references`; -1 where no file has it. */
  numberOf(name: string): number;
  /** A file that was put before is replaced. */
  put(path: string, language: string, family: Family, symbols: FileSymbols): void;
  remove(path: string): void;
}

const createBuckets = () => {
  const map = new Map<string, number[]>();
  return {
    get: (key: string): readonly number[] => map.get(key) ?? [],
    keys: () => map.keys(),
    add: (key: string, value: number): void => {
      const found = map.get(key);
      if (found === undefined) map.set(key, [value]);
      else found.push(value);
    },
    drop: (key: string, isGone: (value: number) => boolean): void => {
      const left = (map.get(key) ?? []).filter((value) => !isGone(value));
      if (left.length === 0) map.delete(key);
      else map.set(key, left);
    },
  };
};

const stemOf = ({ path, folder, family: { folderModules = [] } }: FileRecord): string => {
  const stem = nameOf(path).replace(/\.(?:d\.)?[^.]+$/, "");
  return folderModules.includes(stem) ? nameOf(folder) : stem;
};

const isAttached = ({ parent, name, qualified }: Definition): boolean =>
  parent < 0 && qualified.length > name.length;

/** The last name of what an alias holds. */
const heldName = ({ definitions }: Pick<FileRecord, "definitions">, { type }: Definition): string => {
  const own = /^#(\d+)$/.exec(type);
  if (own !== null) return definitions[Number(own[1])]?.name ?? "";
  return type.slice(type.lastIndexOf(".") + 1);
};

const createIndexes = () => ({
  named: createBuckets(),
  attached: createBuckets(),
  holding: createBuckets(),
  renaming: createBuckets(),
  mentioning: createBuckets(),
  inFolder: createBuckets(),
  inModule: createBuckets(),
  byStem: createBuckets(),
});
type Indexes = ReturnType<typeof createIndexes>;

const addTo = (indexes: Indexes, file: FileRecord, mentioned: ReadonlySet<string>): void => {
  for (const [index, definition] of file.definitions.entries()) {
    if (definition.kind === "alias") {
      const held = heldName(file, definition);
      indexes.holding.add(definition.name, symbolId(file.id, index));
      if (held !== definition.name) indexes.renaming.add(held, symbolId(file.id, index));
      continue;
    }
    indexes.named.add(definition.name, symbolId(file.id, index));
    if (isAttached(definition)) indexes.attached.add(definition.qualified, symbolId(file.id, index));
  }
  for (const name of mentioned) indexes.mentioning.add(name, file.id);
  indexes.inFolder.add(file.folder, file.id);
  indexes.inModule.add(moduleKey(file.family, file.module), file.id);
  indexes.byStem.add(stemOf(file), file.id);
};

const dropFrom = (indexes: Indexes, file: FileRecord, mentioned: ReadonlySet<string>): void => {
  const isOfFile = (symbol: number): boolean => fileOf(symbol) === file.id;
  const isFile = (id: number): boolean => id === file.id;
  for (const definition of file.definitions)
    if (definition.kind === "alias") {
      indexes.renaming.drop(heldName(file, definition), isOfFile);
      indexes.holding.drop(definition.name, isOfFile);
    }
  for (const name of new Set(file.definitions.map(({ name }) => name))) indexes.named.drop(name, isOfFile);
  for (const definition of file.definitions)
    if (isAttached(definition)) indexes.attached.drop(definition.qualified, isOfFile);
  for (const name of mentioned) indexes.mentioning.drop(name, isFile);
  indexes.inFolder.drop(file.folder, isFile);
  indexes.inModule.drop(moduleKey(file.family, file.module), isFile);
  indexes.byStem.drop(stemOf(file), isFile);
};

export const createTable = (): Table => {
  const references = createReferences();
  const indexes = createIndexes();
  const files = new Map<number, FileRecord>();
  const paths = new Map<string, number>();
  let nextId = 0;
  let generation = 0;

  const mentionedBy = (file: FileRecord): ReadonlySet<string> => {
    const names = references.namesIn(file.references);
    for (const { name, local } of file.imports) names.add(name).add(local);
    return names;
  };
  const byPath = (path: string): FileRecord | undefined => {
    const id = paths.get(path);
    return id === undefined ? undefined : files.get(id);
  };
  const remove = (path: string): void => {
    const file = byPath(path);
    if (file === undefined) return;
    generation++;
    files.delete(file.id);
    paths.delete(path);
    dropFrom(indexes, file, mentionedBy(file));
  };

  return {
    ...indexes,
    get generation() {
      return generation;
    },
    files,
    byPath,
    file: (id) => files.get(id),
    definition: (symbol) => files.get(fileOf(symbol))?.definitions[definitionOf(symbol)],
    reference: (file, at) => references.row(file.references, at),
    numberOf: references.numberOf,
    put: (path, language, family, symbols) => {
      remove(path);
      generation++;
      const { module, definitions, imports } = symbols;
      const packed = references.pack(symbols.references);
      const id = nextId++;
      const file = {
        id,
        path,
        folder: folderOf(path),
        language,
        family,
        module,
        definitions,
        imports,
        references: packed,
      };
      files.set(id, file);
      paths.set(path, id);
      addTo(indexes, file, mentionedBy(file));
    },
    remove,
  };
};
