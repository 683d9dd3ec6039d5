/**
 * What is known of a program's options. Only what is listed here is trusted to swallow what comes after it, so a wrong
 * entry in `values`, `attached` or `longValues` is a hole, and a missing one only refuses too much.
 */
export interface OptionShape {
  /** Letters that take no value; then, after a space, long options that take none. */
  readonly flags?: string;
  /** Letters that take the rest of their word as a value, or the next word. */
  readonly values?: string;
  /** Letters that take the rest of their word as a value, and never the next word. */
  readonly attached?: string;
  /** Long options that take the next word when there is no `=`. */
  readonly longValues?: string;
}

export interface FoundOption {
  /** `-o` or `--output`, as written. */
  readonly name: string;
  readonly value: string | undefined;
  /** Not possibly the value of an unknown option before it. */
  readonly isSure: boolean;
}

export interface SortedWords {
  readonly options: readonly FoundOption[];
  readonly operands: readonly string[];
  /** How many of the options come before the first operand: some programs heed no others. */
  readonly leading: number;
  /** No option is unknown, so no operand can be the value of one. */
  readonly isCertain: boolean;
}

export const listed = (names: string | undefined): readonly string[] => names?.split(" ") ?? [];

const readLong = (word: string): readonly [name: string, value: string | undefined] => {
  const equals = word.indexOf("=");
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
};

/** Sorts words the way getopt does, options among operands included. */
export const sortWords = (words: readonly string[], shape: OptionShape): SortedWords => {
  const [letterFlags = "", ...longFlags] = listed(shape.flags);
  const longValues = listed(shape.longValues);
  const options: FoundOption[] = [];
  const operands: string[] = [];
  // The word before may be an option that waits for a value, for all that is known: then `--` may be that value.
  let isOpen = false;
  let isCertain = true;
  let leading: number | undefined;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const isSure = !isOpen;
    // A word that may itself be a value may take none: then the next word is looked at all the same.
    const skip = (): void => {
      if (isSure) i++;
      else isOpen = true;
    };
    if (word === "--") {
      const rest = words.slice(i + 1);
      // Where it may be a value, what follows is taken for both.
      const more = isSure ? [] : sortWords(rest, shape).options.map((option) => ({ ...option, isSure }));
      operands.push(...rest);
      return { options: [...options, ...more], operands, leading: leading ?? options.length, isCertain };
    } else if (word.startsWith("--")) {
      const [name, written] = readLong(word);
      const takesNext = written === undefined && longValues.includes(name);
      options.push({ name, value: takesNext ? words[i + 1] : written, isSure });
      isOpen = written === undefined && !takesNext && !longFlags.includes(name);
      if (takesNext) skip();
    } else if (word.startsWith("-") && word !== "-") {
      isOpen = false;
      for (let at = 1; at < word.length; at++) {
        const letter = word[at] ?? "";
        const takesValue = shape.values?.includes(letter) === true;
        const isAttached = shape.attached?.includes(letter) === true;
        const rest = word.slice(at + 1);
        const taken = rest || words[i + 1];
        options.push({
          name: `-${letter}`,
          value: takesValue ? taken : isAttached ? rest : undefined,
          isSure,
        });
        if (takesValue && rest === "") skip();
        if (takesValue || isAttached) break;
        isOpen = rest === "" && !letterFlags.includes(letter);
      }
    } else {
      leading ??= options.length;
      operands.push(word);
      isOpen = false;
    }
    if (isOpen) isCertain = false;
  }
  return { options, operands, leading: leading ?? options.length, isCertain };
};

/**
 * Whether an option is one of those named. The beginning of a long name counts as the name, since getopt takes
 * abbreviations; `plain` lists the harmless options whose whole name is such a beginning.
 */
export const meansOneOf = (
  option: FoundOption,
  names: readonly string[],
  plain: readonly string[],
): boolean => {
  if (names.includes(option.name)) return true;
  if (!option.name.startsWith("--") || plain.includes(option.name)) return false;
  return names.some((name) => name.startsWith(option.name));
};
