import { stem } from "../terms/stem.ts";
import { splitSubtokens } from "../terms/subtokens.ts";
import { categoryOf, type FileCategory } from "./file-category.ts";

/** What the path of a file says about its content. */
export interface PathTerms {
  /** Stems of the file name. */
  readonly fileStems: readonly string[];
  /** The file name in lower case, without separators. */
  readonly name: string;
  /** Stems of the directories. */
  readonly folderStems: ReadonlySet<string>;
  readonly category: FileCategory | undefined;
}

/** These file names say nothing; the directory does. */
const NAMELESS = new Set(["index", "mod", "main", "init", "lib", "package"]);

export const pathTerms = (path: string): PathTerms => {
  const folders = path.split("/");
  const file = folders.pop() ?? "";
  const subtokens = splitSubtokens(file.replace(/(?<=.)\.[^.]*$/, ""));
  const folder = folders.at(-1);
  const named = NAMELESS.has(subtokens.join("")) && folder !== undefined ? splitSubtokens(folder) : subtokens;
  return {
    fileStems: named.map(stem),
    name: named.join(""),
    folderStems: new Set(folders.flatMap(splitSubtokens).map(stem)),
    category: categoryOf(path),
  };
};
