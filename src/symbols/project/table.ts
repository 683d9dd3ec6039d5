import type { Definition, FileSymbols, Import, ReferenceKind } from "../extract/file-symbols.ts";
import { REFERENCE_KINDS } from "../extract/pack.ts";
import { type Family, familyOf } from "../families.ts";

/** A definition of the project: file and index in one number. */
export type SymbolId = number;

/** More definitions than a file can have. */
const SYMBOLS_PER_FILE = 131_072;

export const symbolId = (file: number, definition: number): SymbolId => file * SYMBOLS_PER_FILE + definition;
export const fileOf = (symbol: SymbolId): number => Math.floor(symbol / SYMBOLS_PER_FILE);
export const definitionOf = (symbol: SymbolId): number => symbol % SYMBOLS_PER_FILE;

/** Numbers of one reference in `references`: name, via, line, inside, target and kind. */
export const STRIDE = 5;

export interface FileRecord {
  readonly id: number;
  readonly path: string;
  readonly folder: string;
  readonly language: string;
  readonly family: Family;
  readonly module: string;
  readonly definitions: readonly Definition[];
  readonly imports: readonly Import[];
  /** Three million of them are held as numbers, not as objects. */
  readonly references: Int32Array;
}

export interface ReferenceRow {
  readonly name: string;
  readonly via: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  readonly inside: number;
  readonly target: number;
}

/** Which files or symbols stand under a key, kept current as files come and go. */
export interface Buckets<K> {
  get(key: K): readonly number[];
  keys(): IterableIterator<K>;
}

const createBuckets = <K>() => {
  const map = new Map<K, number[]>();
  return {
    get: (key: K): readonly number[] => map.get(key) ?? [],
    keys: () => map.keys(),
    add: (key: K, value: number): void => {
      const found = map.get(key);
      if (found === undefined) map.set(key, [value]);
      else found.push(value);
    },
    drop: (key: K, isGone: (value: number) => boolean): void => {
      const left = (map.get(key) ?? []).filter((value) => !isGone(value));
      if (left.length === 0) map.delete(key);
      else map.set(key, left);
    },
  };
};

export interface Table {
  readonly generation: number;
  readonly files: ReadonlyMap<number, FileRecord>;
  byPath(path: string): FileRecord | undefined;
  file(id: number): FileRecord | undefined;
  definition(symbol: SymbolId): Definition | undefined;
  /** Symbols by plain name. */
  readonly named: Buckets<string>;
  /** Symbols that stand outside of what they belong to (`func (s *Store) Open`), by `Store.Open`. */
  readonly attached: Buckets<string>;
  /** Files by a name that they refer to or import. */
  readonly mentioning: Buckets<string>;
  /** Files by folder, by family and package, and by name without extension (the folder's for `__init__` and `index`). */
  readonly inFolder: Buckets<string>;
  readonly inModule: Buckets<string>;
  readonly byStem: Buckets<string>;
  reference(file: FileRecord, at: number): ReferenceRow;
  /** Number of a name; -1 where no file has it. */
  numberOf(name: string): number;
  put(path: string, language: string, symbols: FileSymbols): void;
  remove(path: string): void;
}

export const folderOf = (path: string): string => {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
};

const stemOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const stem = name.replace(/\.(?:d\.)?[^.]+$/, "");
  return /^(?:__init__|index|mod)$/.test(stem)
    ? folderOf(path).slice(folderOf(path).lastIndexOf("/") + 1)
    : stem;
};

export const moduleKey = (family: Family, module: string): string => `${family} ${module}`;

export const createTable = (): Table => {
  const numbers = new Map<string, number>();
  const words: string[] = [];
  const files = new Map<number, FileRecord>();
  const paths = new Map<string, number>();
  const named = createBuckets<string>();
  const attached = createBuckets<string>();
  const mentioning = createBuckets<string>();
  const inFolder = createBuckets<string>();
  const inModule = createBuckets<string>();
  const byStem = createBuckets<string>();
  let nextId = 0;
  let generation = 0;

  const intern = (word: string): number => {
    const known = numbers.get(word);
    if (known !== undefined) return known;
    numbers.set(word, words.length);
    words.push(word);
    return words.length - 1;
  };

  const mentions = (record: FileRecord): Set<string> => {
    const names = new Set<string>();
    for (let at = 0; at < record.references.length; at += STRIDE)
      names.add(words[record.references[at] ?? 0] ?? "");
    for (const { name, local } of record.imports) {
      names.add(name);
      names.add(local);
    }
    return names;
  };

  const isAttached = (definition: Definition): boolean =>
    definition.parent < 0 && definition.qualified.length > definition.name.length;

  const drop = (path: string): void => {
    const id = paths.get(path);
    const record = id === undefined ? undefined : files.get(id);
    if (id === undefined || record === undefined) return;
    files.delete(id);
    paths.delete(path);
    const ofFile = (symbol: number): boolean => fileOf(symbol) === id;
    const isFile = (file: number): boolean => file === id;
    for (const name of new Set(record.definitions.map(({ name }) => name))) named.drop(name, ofFile);
    for (const definition of record.definitions)
      if (isAttached(definition)) attached.drop(definition.qualified, ofFile);
    for (const name of mentions(record)) mentioning.drop(name, isFile);
    inFolder.drop(record.folder, isFile);
    inModule.drop(moduleKey(record.family, record.module), isFile);
    byStem.drop(stemOf(path), isFile);
  };

  const packReferences = ({ references }: FileSymbols): Int32Array => {
    const packed = new Int32Array(references.length * STRIDE);
    let at = 0;
    for (const { name, via, line, inside, target, kind } of references) {
      packed[at++] = intern(name);
      packed[at++] = intern(via);
      packed[at++] = line;
      packed[at++] = inside;
      packed[at++] = target * 8 + REFERENCE_KINDS.indexOf(kind);
    }
    return packed;
  };

  return {
    get generation() {
      return generation;
    },
    files,
    byPath: (path) => {
      const id = paths.get(path);
      return id === undefined ? undefined : files.get(id);
    },
    file: (id) => files.get(id),
    definition: (symbol) => files.get(fileOf(symbol))?.definitions[definitionOf(symbol)],
    named,
    attached,
    mentioning,
    inFolder,
    inModule,
    byStem,
    reference: ({ references }, at) => {
      const last = references[at + 4] ?? 0;
      return {
        name: words[references[at] ?? 0] ?? "",
        via: words[references[at + 1] ?? 0] ?? "",
        line: references[at + 2] ?? 0,
        inside: references[at + 3] ?? -1,
        target: last >> 3,
        kind: REFERENCE_KINDS[last & 7] ?? "read",
      };
    },
    numberOf: (name) => numbers.get(name) ?? -1,
    put: (path, language, symbols) => {
      drop(path);
      generation++;
      const id = nextId++;
      const record: FileRecord = {
        id,
        path,
        folder: folderOf(path),
        language,
        family: familyOf(language),
        module: symbols.module,
        definitions: symbols.definitions,
        imports: symbols.imports,
        references: packReferences(symbols),
      };
      files.set(id, record);
      paths.set(path, id);
      for (const [index, definition] of symbols.definitions.entries()) {
        named.add(definition.name, symbolId(id, index));
        if (isAttached(definition)) attached.add(definition.qualified, symbolId(id, index));
      }
      for (const name of mentions(record)) mentioning.add(name, id);
      inFolder.add(record.folder, id);
      inModule.add(moduleKey(record.family, record.module), id);
      byStem.add(stemOf(path), id);
    },
    remove: (path) => {
      if (paths.has(path)) generation++;
      drop(path);
    },
  };
};
