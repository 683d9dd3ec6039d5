/**
 * What is known of a program's options. Only options listed here are trusted to take what follows as a value, so a wrong
 * entry in `values`, `attached` or `longValues` is a hole, and a missing one only refuses too much.
 */
export interface OptionShape {
  /** Letters that take no value; then, after a space, long options that take none. */
  readonly flags?: string;
  /** Letters that take the rest of their argument as a value, or the next argument. */
  readonly values?: string;
  /** Letters that take the rest of their argument as a value, and never the next argument. */
  readonly attached?: string;
  /** Long options that take the next argument if there is no `=`. */
  readonly longValues?: string;
}

export interface FoundOption {
  /** `-o` or `--output`, as written. */
  readonly name: string;
  readonly value: string | undefined;
  /** Certainly not the value of an unknown option before it. */
  readonly isSure: boolean;
}

export interface ParsedArguments {
  readonly options: readonly FoundOption[];
  readonly operands: readonly string[];
  /** How many of the options come before the first operand: some programs ignore the others. */
  readonly leading: number;
  /** No option is unknown, so no operand can be the value of one. */
  readonly isCertain: boolean;
}

export const listed = (names: string | undefined): readonly string[] => names?.split(" ") ?? [];

const readLong = (arg: string): readonly [name: string, value: string | undefined] => {
  const equals = arg.indexOf("=");
  return equals < 0 ? [arg, undefined] : [arg.slice(0, equals), arg.slice(equals + 1)];
};

/** Parses arguments as getopt does, options among operands included. */
export const parseArguments = (args: readonly string[], shape: OptionShape): ParsedArguments => {
  const [letterFlags = "", ...longFlags] = listed(shape.flags);
  const longValues = listed(shape.longValues);
  const options: FoundOption[] = [];
  const operands: string[] = [];
  // The argument before may be an unknown option that takes a value: then `--` may be that value.
  let isOpen = false;
  let isCertain = true;
  let leading: number | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const isSure = !isOpen;
    // An argument that may itself be a value may take no value, so the next argument is examined nevertheless.
    const skip = (): void => {
      if (isSure) i++;
      else isOpen = true;
    };
    if (arg === "--") {
      const rest = args.slice(i + 1);
      // If it may be a value, what follows is read both ways.
      const more = isSure ? [] : parseArguments(rest, shape).options.map((option) => ({ ...option, isSure }));
      operands.push(...rest);
      return { options: [...options, ...more], operands, leading: leading ?? options.length, isCertain };
    } else if (arg.startsWith("--")) {
      const [name, written] = readLong(arg);
      const takesNext = written === undefined && longValues.includes(name);
      options.push({ name, value: takesNext ? args[i + 1] : written, isSure });
      isOpen = written === undefined && !takesNext && !longFlags.includes(name);
      if (takesNext) skip();
    } else if (arg.startsWith("-") && arg !== "-") {
      isOpen = false;
      for (let at = 1; at < arg.length; at++) {
        const letter = arg[at] ?? "";
        const takesValue = shape.values?.includes(letter) === true;
        const isAttached = shape.attached?.includes(letter) === true;
        const rest = arg.slice(at + 1);
        const taken = rest || args[i + 1];
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
      operands.push(arg);
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
