import { baseName } from "../../base/paths.ts";
import { editDistance } from "../../base/text.ts";
import { categoryOf } from "./file-category.ts";
import { createNameIndex } from "./name-index.ts";

interface ChunkPosition {
  readonly id: number;
  readonly path: string;
  readonly startLine: number;
}

/** What a question says about files. */
export interface NamedFiles {
  /** The first chunk of each file that the question names, those nearest to the root first. */
  readonly beginnings: readonly number[];
  /** The question is a name and nothing else. */
  readonly isAll: boolean;
}

const BETWEEN = /[\s"'`()<>,;:?!]+/;

/** `licence` means LICENSE; shorter names are too near to each other. */
const MIN_MISSPELT = 6;

const lower = (name: string): string => name.toLowerCase();

/** `Makefile`, `package.json`: a file without extension and capital (`bin/run`) has a name like any word. */
const isFileName = (file: string): boolean => /[^.]\.|[A-Z]/.test(file);

/** `README`: documents in the root are called by their names without the extension. */
const titleOf = (path: string): readonly string[] =>
  !path.includes("/") && categoryOf(path) === "docs" ? [path.replace(/\.\w+$/, "")] : [];

const depthOf = (path: string): number => path.split("/").length;

/** Finds the beginnings of the files that a question names. */
export const createFileNames = <T extends ChunkPosition>(factsOf: ReadonlyMap<number, T>) => {
  const files = createNameIndex(lower);
  const titles = createNameIndex(lower);

  const beginnings = (ids: readonly number[], isMeant: (path: string) => boolean): readonly number[] => {
    const first = new Map<string, T>();
    for (const facts of ids.map((id) => factsOf.get(id))) {
      if (facts === undefined || !isMeant(facts.path)) continue;
      const known = first.get(facts.path);
      if (known === undefined || facts.startLine < known.startLine) first.set(facts.path, facts);
    }
    return [...first.values()]
      .sort((a, b) => depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1))
      .map(({ id }) => id);
  };

  return {
    add: ({ id, path }: T): void => {
      if (isFileName(baseName(path))) files.add(id, [baseName(path)]);
      titles.add(id, titleOf(path));
    },
    remove: ({ id, path }: T): void => {
      files.remove(id, [baseName(path)]);
      titles.remove(id, titleOf(path));
    },
    find: (question: string, isWanted?: (id: number) => boolean): NamedFiles => {
      const terms = question
        .split(BETWEEN)
        .map((word) => word.replace(/^(?:\.?\/)+|\.+$/g, "").toLowerCase());
      const named = terms.filter(Boolean);
      const isAll = named.length === 1;
      const found = named.flatMap((word) =>
        isAll || word.includes(".")
          ? beginnings(files.find(baseName(word), Number.POSITIVE_INFINITY, isWanted), (path) =>
              `/${path.toLowerCase()}`.endsWith(`/${word}`),
            )
          : [],
      );
      const [word = ""] = named;
      if (!isAll || found.length > 0 || word === "") return { beginnings: found, isAll };
      const isTitle = (title: string): boolean =>
        title === word || (word.length >= MIN_MISSPELT && editDistance(word, title) === 1);
      const ids = [...titles.keys()]
        .filter(isTitle)
        .flatMap((title) => titles.find(title, Number.POSITIVE_INFINITY, isWanted));
      return { beginnings: beginnings(ids, () => true), isAll };
    },
  };
};
