import { editDistance } from "../../base/text.ts";
import type { FileRecord } from "../project/family.ts";
import { nameOf } from "../project/paths.ts";
import { inOrder } from "../project/shape.ts";
import type { Table } from "../project/table.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { SymbolAt } from "./answers.ts";

/** `lib/hooks.js`: with a folder and an extension. A query of this form is never a name. */
const PATH = /^(?:[^\s:#()<>"']*\/)+[^\s/:#()<>"']+\.[A-Za-z]\w*$/;

export const isPath = (query: string): boolean => PATH.test(query.trim());

const MAX_SUGGESTED = 5;
/** Edits between the name that was asked for and one that is suggested. */
const MAX_EDITS = 2;

/** The file that a query names: by its path, or by the end of it where no other file has that. */
export const findFile = (table: Table, query: string): FileRecord | undefined => {
  const path = query.trim().replace(/^(?:\.\/)+/, "");
  const exact = table.byPath(path);
  if (exact !== undefined || !/\.\w+$/.test(path)) return exact;
  const ending = [...table.files.values()].filter((file) => file.path.endsWith(`/${path}`));
  return ending.length === 1 ? ending[0] : undefined;
};

/** Paths of files that may have been meant by a path that does not exist. */
export const suggestFiles = (table: Table, query: string): readonly string[] => {
  const name = nameOf(query.trim());
  return [...table.files.values()]
    .map(({ path }) => ({ path, edits: editDistance(name, nameOf(path)) }))
    .filter(({ edits }) => edits <= MAX_EDITS)
    .sort((a, b) => a.edits - b.edits || (a.path < b.path ? -1 : 1))
    .slice(0, MAX_SUGGESTED)
    .map(({ path }) => path);
};

/** A whole file as a symbol. */
export const describeFile = ({ path }: FileRecord): SymbolAt => ({
  name: nameOf(path),
  qualified: nameOf(path),
  kind: "module",
  path,
  line: 1,
  startLine: 1,
  endLine: 1,
  exported: true,
});

export interface FileLink {
  readonly file: FileRecord;
  /** Of the imports. */
  readonly lines: readonly number[];
}

const addLine = (links: Map<FileRecord, Set<number>>, file: FileRecord, line: number): void => {
  const lines = links.get(file);
  if (lines === undefined) links.set(file, new Set([line]));
  else lines.add(line);
};

const toLinks = (links: ReadonlyMap<FileRecord, ReadonlySet<number>>): readonly FileLink[] =>
  [...links].map(([file, lines]) => ({ file, lines: [...lines].sort((a, b) => a - b) }));

/** Which files of the project import which. */
export const createFileLinks = (table: Table, { names }: Resolver) => {
  const importsOf = (file: FileRecord): readonly FileLink[] => {
    const links = new Map<FileRecord, Set<number>>();
    for (const { source, line } of file.imports)
      if (source !== "")
        for (const imported of inOrder(table, names.filesOf(file, source))) addLine(links, imported, line);
    return toLinks(links);
  };
  const importersOf = (file: FileRecord): readonly FileLink[] =>
    [...table.files.values()]
      .filter((other) => other.family === file.family && other.id !== file.id)
      .flatMap((other) =>
        importsOf(other).flatMap((link) =>
          link.file.id === file.id ? [{ file: other, lines: link.lines }] : [],
        ),
      )
      .sort((a, b) => (a.file.path < b.file.path ? -1 : 1));
  return { importsOf, importersOf };
};

export type FileLinks = ReturnType<typeof createFileLinks>;
