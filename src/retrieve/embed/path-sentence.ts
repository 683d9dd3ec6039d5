import { splitSubtokens } from "../terms/subtokens.ts";

/** The last directories and the file name say most about a file; a deep path must not outweigh its text. */
const MAX_SUBTOKENS = 12;

/** A path as text for a sentence model: its subtokens, without numbers, single letters and the extension. */
export const pathSentence = (path: string): string =>
  splitSubtokens(path.replace(/(?<=[^/])\.[^./]*$/, ""))
    .filter((subtoken) => subtoken.length > 1 && !/^\p{Nd}+$/u.test(subtoken))
    .slice(-MAX_SUBTOKENS)
    .join(" ");
