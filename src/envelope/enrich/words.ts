/** A program's options as they were written, and what is left. */
export interface Words {
  /** Letters of short options and whole long ones, without dashes and values: `n`, `line-number`. */
  readonly options: ReadonlySet<string>;
  readonly operands: readonly string[];
}

/**
 * Sorts words well enough to know which form an output has; a wrong guess costs tokens, never a fact, since an output
 * that does not have the form passes through.
 *
 * @param values Letters, and long names, that take the next word.
 */
export const sortWords = (words: readonly string[], values: string): Words => {
  const [letters = "", ...longs] = values.split(" ");
  const options = new Set<string>();
  const operands: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "--") {
      operands.push(...words.slice(i + 1));
      break;
    }
    if (word.startsWith("--")) {
      const [name = ""] = word.slice(2).split("=", 1);
      options.add(name);
      if (!word.includes("=") && longs.includes(name)) i++;
    } else if (word.startsWith("-") && word !== "-") {
      for (let at = 1; at < word.length; at++) {
        const letter = word[at] ?? "";
        options.add(letter);
        if (!letters.includes(letter)) continue;
        if (at === word.length - 1) i++;
        break;
      }
    } else {
      operands.push(word);
    }
  }
  return { options, operands };
};

export const hasAny = ({ options }: Words, names: string): boolean =>
  names.split(" ").some((name) => options.has(name));
