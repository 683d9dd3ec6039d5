import type { Definition, Import } from "../extract/file-symbols.ts";
import type { ConfigFiles } from "./config-files.ts";

export interface FileRecord {
  readonly id: number;
  readonly path: string;
  readonly folder: string;
  readonly language: string;
  readonly family: Family;
  /** Package or namespace that the file declares. */
  readonly module: string;
  readonly definitions: readonly Definition[];
  readonly imports: readonly Import[];
  /** `STRIDE` numbers for each: a project has millions, too many for objects. */
  readonly references: Int32Array;
}

/** Ids of files or symbols by a key. */
export interface Buckets {
  get(key: string): readonly number[];
  keys(): IterableIterator<string>;
}

/** The look-ups that resolving an import needs. */
export interface ProjectFiles {
  /** Raised by every change. */
  readonly generation: number;
  byPath(path: string): FileRecord | undefined;
  file(id: number): FileRecord | undefined;
  readonly inFolder: Buckets;
  /** By `moduleKey`. */
  readonly inModule: Buckets;
  /** By file name without extension; by the folder's name for files that stand for their folder. */
  readonly byStem: Buckets;
}

/** Ids of the files that an import's source means; empty where it means nothing of the project. */
export type ResolveSource = (from: FileRecord, source: string) => readonly number[];

/**
 * How files of a language, or of several that can name each other's symbols, find what they name. Extraction has the
 * language's rules; this is for resolution. A property that is left out means no, or nothing.
 */
export interface Family {
  readonly name: string;
  /** Which other files' names a file can use without an import. */
  readonly reach: "file" | "folder" | "package" | "project";

  /** Without it, a source is the module that files say they belong to. */
  readonly createModules?: (files: ProjectFiles, config: ConfigFiles) => ResolveSource;
  /** Configuration files that `createModules` reads, by base name. */
  readonly configFiles?: RegExp;
  /** The same source may mean different files for two files of one folder. */
  readonly sourcesDependOnFile?: boolean;
  /** Source of a module inside another one: `from package import module`. */
  readonly submodule?: (source: string, name: string) => string;
  /** Source of a module beside the one that names it by an attribute: `package.module`. */
  readonly attributeModule?: (name: string) => string;
  /** The source is part of this project even though no file stands for it. */
  readonly isOwnSource?: (files: ProjectFiles, source: string) => boolean;
  /** Base names, without extension, of files that stand for their folder. */
  readonly folderModules?: readonly string[];

  /** Only exported definitions can be imported. */
  readonly hidesUnexported?: boolean;
  /** Only exported imports can be imported from the importing file in turn. */
  readonly hidesImports?: boolean;
  /** Wildcard imports are not handed on to files that import the importing file. */
  readonly hidesWildcards?: boolean;
  /** A re-export does not bind the name in the file itself. */
  readonly reexportsBindNothing?: boolean;
  /** Name under which a module offers itself as one value. */
  readonly wholeModule?: string;
  /** A definition may replace an import that fails: `except ImportError: def …`. */
  readonly hasImportFallbacks?: boolean;

  /** A type of another file can be named only through an import. */
  readonly typesNeedImport?: boolean;
  /** Functions and plain objects have methods, in which `this` means them. */
  readonly hasObjectMethods?: boolean;
  /** One type may be defined in several places: partial, reopened and extended classes. */
  readonly hasOpenTypes?: boolean;
  /** Methods stand outside of their type, but in its folder. */
  readonly methodsShareFolder?: boolean;
  /** A declaration in one file and the definition in another are one symbol. */
  readonly declaresAcrossFiles?: boolean;
  /** Namespaces are not symbols: `namespace.name` may mean a plain name. */
  readonly ignoresNamespaces?: boolean;
  /** A member is never named plainly, not even by its own class. */
  readonly membersNeedReceiver?: boolean;
  /** A method of an unknown value is believed only where it is called: `error.code` is rarely the method `code`. */
  readonly readsAreNoMethods?: boolean;
  /** A plain name may call a method of the object that the code runs in. */
  readonly callsMembersPlainly?: boolean;

  /** Documentation is the string at the start of a body. */
  readonly hasDocstrings?: boolean;
  /** Paths of test files beyond the conventions that all languages share. */
  readonly testFiles?: RegExp;
}

export const moduleKey = ({ name }: Family, module: string): string => `${name} ${module}`;
