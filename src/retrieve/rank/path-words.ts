import { splitWords } from "../terms/split-words.ts";
import { stem } from "../terms/stem.ts";
import { type Aside, asideOf } from "./asides.ts";

/** What a path says about its file. */
export interface PathWords {
  /** Stems of the words of the file's name. */
  readonly stem: readonly string[];
  /** The file's name in one way of writing. */
  readonly name: string;
  /** Stems of the words of its folders. */
  readonly folders: ReadonlySet<string>;
  readonly aside: Aside | undefined;
}

/** A file of this name says nothing by it: its folder names it. */
const NAMELESS = new Set(["index", "mod", "main", "init", "lib", "package"]);

export const pathWords = (path: string): PathWords => {
  const folders = path.split("/");
  const file = folders.pop() ?? "";
  const words = splitWords(file.replace(/(?<=.)\.[^.]*$/, ""));
  const folder = folders.at(-1);
  const named = NAMELESS.has(words.join("")) && folder !== undefined ? splitWords(folder) : words;
  return {
    stem: named.map(stem),
    name: named.join(""),
    folders: new Set(folders.flatMap(splitWords).map(stem)),
    aside: asideOf(path),
  };
};
